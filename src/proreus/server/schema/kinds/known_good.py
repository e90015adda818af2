"""Pod specs that have been found valid, remembered by their text.

A controller makes thousands of pods from one template; they differ in name, not in spec. Validating
a spec is a pure function of it, so what was good once is good again, and what was not worth a
warning is not worth one now. Bounded by bytes, the oldest go first. A hit costs about 2 µs for 3 kB
instead of a hundred.

New templates are mostly made of old parts: ``once`` remembers the same of probes and resources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from threading import Lock
from typing import Any

import orjson

from proreus.server.schema.kinds.findings import Findings

_BYTES_MAX = 4 * 1024 * 1024


class KnownGood:
    def __init__(self, bytes_max: int = _BYTES_MAX) -> None:
        self._texts: dict[bytes, bool] = {}  # whether there is nothing to warn about either
        self._bytes = 0
        self._bytes_max = bytes_max
        self._changing = Lock()  # long objects are judged on another thread

    @staticmethod
    def text(spec: Mapping[str, Any]) -> bytes:
        """Equal texts are equal specs; equal specs may differ in the order of their fields."""
        return orjson.dumps(spec)

    def __contains__(self, text: bytes) -> bool:
        return text in self._texts

    def is_quiet(self, text: bytes) -> bool:
        """Whether it is known to be good and to give no warnings."""
        return self._texts.get(text, False)

    def add(self, text: bytes) -> None:
        with self._changing:
            self._bytes += 0 if text in self._texts else len(text)
            self._texts[text] = False
            while self._bytes > self._bytes_max:
                oldest = next(iter(self._texts))
                del self._texts[oldest]
                self._bytes -= len(oldest)

    def add_quiet(self, text: bytes) -> None:
        """What is good gives no warnings; what is not known to be good is not remembered."""
        with self._changing:
            if text in self._texts:
                self._texts[text] = True


POD_SPECS = KnownGood()
_PARTS_BYTES_MAX = 1024 * 1024

Json = Mapping[str, Any]
Judge = Callable[[Findings, str, Json], None]  # violations, path, part


def once(judge: Judge) -> Judge:
    """For rules that look at nothing but their part: what has passed them passes again unread."""
    known = KnownGood(_PARTS_BYTES_MAX)

    @wraps(judge)
    def judged(found: Findings, at: str, part: Json) -> None:
        text = known.text(part)
        if text in known:
            return
        before = len(found)
        judge(found, at, part)
        if len(found) == before:
            known.add(text)

    return judged
