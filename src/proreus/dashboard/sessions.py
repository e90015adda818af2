"""Who is logged in: a bounded table of sessions that end by themselves. Pure.

The cookie holds 256 random bits and nothing else; the table knows its hash, so that neither a
lookup's time nor a look at the table tells a cookie that is good. What the session may do is what
its token may do at the API server, which stays in this process.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field

from proreus.aio.current_tasks import CurrentTasks

IDLE_S = 3600.0  # without a request, and with none under way
LONGEST_S = 12 * 3600.0
SESSIONS_MAX = 1000
REQUESTS_MAX = 100  # of one session at once, watches included


@dataclass(frozen=True, slots=True)
class Visitor:
    """A token that the API server has accepted, and whom it took it for."""

    username: str
    groups: tuple[str, ...]
    token: str = field(repr=False)


@dataclass(slots=True, eq=False)
class Session:
    """``requests`` are under way: they end with the session."""

    visitor: Visitor
    csrf_token: str = field(repr=False)
    began_at: float
    used_at: float
    requests: CurrentTasks = field(default_factory=CurrentTasks)

    def accepts(self, csrf_token: str) -> bool:
        return hmac.compare_digest(self.csrf_token.encode(), csrf_token.encode("utf-8", "replace"))

    def is_over(self, now: float) -> bool:
        """A watch that is open counts as use: its reader sees changes without asking again."""
        is_idle = not len(self.requests) and now - self.used_at >= IDLE_S
        return is_idle or now - self.began_at >= LONGEST_S


class Sessions:
    """``now`` is a monotonic clock's. When the table is full, the one unused for longest ends."""

    def __init__(self) -> None:
        self._by_hash: dict[bytes, Session] = {}  # the one used last is at the end

    def begin(self, visitor: Visitor, now: float) -> str:
        """The cookie's value."""
        self.end_over(now)
        while len(self._by_hash) >= SESSIONS_MAX:
            self._end(next(iter(self._by_hash)))
        cookie = secrets.token_urlsafe(32)
        self._by_hash[_hashed(cookie)] = Session(visitor, secrets.token_urlsafe(32), now, now)
        return cookie

    def find(self, cookie: str, now: float) -> Session | None:
        """The session that has not ended; it counts as used now."""
        key = _hashed(cookie)
        session = self._by_hash.get(key)
        if session is None:
            return None
        if session.is_over(now):
            self._end(key)
            return None
        session.used_at = now
        self._by_hash[key] = self._by_hash.pop(key)
        return session

    def end(self, cookie: str) -> None:
        self._end(_hashed(cookie))

    def end_over(self, now: float) -> None:
        for key in [key for key, session in self._by_hash.items() if session.is_over(now)]:
            self._end(key)

    def end_all(self) -> None:
        for key in list(self._by_hash):
            self._end(key)

    def _end(self, key: bytes) -> None:
        session = self._by_hash.pop(key, None)
        if session is not None:
            session.requests.cancel_all()

    def __len__(self) -> int:
        return len(self._by_hash)

    def __repr__(self) -> str:
        return f"<Sessions: {len(self._by_hash)} of at most {SESSIONS_MAX}>"


def _hashed(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).digest()
