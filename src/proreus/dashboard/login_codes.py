"""Codes of links that log in once: what ``proreus up`` prints. Pure.

A code is good for one login within ten minutes. It is no token: it opens a session of this
dashboard and nothing else, and a copy of it in a terminal's or a browser's history is worthless.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from proreus.dashboard.sessions import Visitor

LASTS_S = 600.0
_CODES_MAX = 100


@dataclass(frozen=True, slots=True)
class _Code:
    visitor: Visitor
    ends_at: float


class LoginCodes:
    """``now`` is a monotonic clock's. Of too many codes the oldest are forgotten."""

    def __init__(self) -> None:
        self._by_hash: dict[bytes, _Code] = {}

    def make(self, visitor: Visitor, now: float) -> str:
        while len(self._by_hash) >= _CODES_MAX:
            del self._by_hash[next(iter(self._by_hash))]
        code = secrets.token_urlsafe(32)
        self._by_hash[_hashed(code)] = _Code(visitor, now + LASTS_S)
        return code

    def use(self, code: str, now: float) -> Visitor | None:
        """Whom it logs in; None if there is no such code, or no longer."""
        found = self._by_hash.pop(_hashed(code), None)
        return found.visitor if found is not None and now < found.ends_at else None

    def __repr__(self) -> str:
        return f"<LoginCodes: {len(self._by_hash)}>"


def _hashed(code: str) -> bytes:
    return hashlib.sha256(code.encode("utf-8", "replace")).digest()
