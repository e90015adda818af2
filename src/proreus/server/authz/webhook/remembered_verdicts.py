"""What a webhook answered before, for as long as it may be used again."""

from __future__ import annotations

from collections import OrderedDict

from proreus.aio.clock import Clock
from proreus.server.authz.authorizer import Verdict

ENTRIES_MAX = 8192  # as in kube-apiserver


class RememberedVerdicts:
    """By question. Those that were not used for longest are forgotten first."""

    def __init__(self, clock: Clock, entries_max: int = ENTRIES_MAX) -> None:
        self._clock = clock
        self._entries_max = entries_max
        self._entries: OrderedDict[bytes, tuple[float, Verdict]] = OrderedDict()

    def find(self, question: bytes) -> Verdict | None:
        entry = self._entries.get(question)
        if entry is None:
            return None
        expires, verdict = entry
        if expires <= self._clock.monotonic():
            del self._entries[question]
            return None
        self._entries.move_to_end(question)
        return verdict

    def put(self, question: bytes, verdict: Verdict, ttl_s: float) -> None:
        if ttl_s <= 0:
            return
        self._entries.pop(question, None)
        self._entries[question] = (self._clock.monotonic() + ttl_s, verdict)
        if len(self._entries) > self._entries_max:
            self._entries.popitem(last=False)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<RememberedVerdicts: {len(self._entries)}>"
