"""Logs of an operator: lines that say which object they are about, as text or as JSON.

What is logged during a reconcile, by anybody, carries the controller and the object (a context
variable that tasks inherit).
"""

from __future__ import annotations

import contextvars
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Literal

from proreus.api.values.timestamp import format_micro_time
from proreus.api.wire import json

LogFormat = Literal["text", "json"]

_fields: contextvars.ContextVar[Mapping[str, object]] = contextvars.ContextVar(
    "log fields", default=MappingProxyType({})
)


@contextmanager
def logged_as(**fields: object) -> Iterator[None]:
    """Add these fields to every line that is logged in the body."""
    token = _fields.set({**_fields.get(), **fields})
    try:
        yield
    finally:
        _fields.reset(token)


class TextLines(logging.Formatter):
    """``time level logger message key=value …``"""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # logging's own name
        added = "".join(f" {name}={value}" for name, value in _fields.get().items())
        return super().formatMessage(record) + added


class JsonLines(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": format_micro_time(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: value if isinstance(value, int) else str(value)
               for name, value in _fields.get().items()},
        }  # fmt: skip
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.encode(line).decode()


def configure_logs(form: LogFormat, level: int = logging.INFO) -> None:
    """To stderr, unless the program has set up logging already."""
    root = logging.getLogger()
    if root.handlers:
        return
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    root.addHandler(handler)
    root.setLevel(level)
