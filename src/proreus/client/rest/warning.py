"""Warnings that the server attaches to an answer: deprecated versions, unknown fields."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator

log = logging.getLogger(__name__)

WarningHandler = Callable[[str], None]
_WARNING = re.compile(r'(\d{3}) (\S+) "((?:[^"\\]|\\.)*)"(?: "[^"]*")?')
_MISCELLANEOUS = "299"  # the only code Kubernetes uses


def warnings_in(values: Iterable[str]) -> Iterator[str]:
    """The texts in ``Warning`` headers; one header may hold several."""
    for value in values:
        for code, _agent, text in _WARNING.findall(value):
            if code == _MISCELLANEOUS and text:
                yield re.sub(r"\\(.)", r"\1", text)


def log_warning(text: str) -> None:
    """What happens to warnings unless the user says otherwise."""
    log.warning("server: %s", text)


class WarnOnce:
    """Passes each text on only the first time."""

    def __init__(self, handler: WarningHandler = log_warning) -> None:
        self._handler = handler
        self._seen: set[str] = set()

    def __call__(self, text: str) -> None:
        if text not in self._seen:
            self._seen.add(text)
            self._handler(text)
