"""Time to live in etcd: keys are attached to leases, many to one.

A lease is shared by keys that want the same time within 5 % of it or a minute, whichever is less,
and by a thousand keys at most, as Kubernetes does: etcd pays for each lease, and deletes all keys
of one at once.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable

from proreus.aio.clock import Clock
from proreus.lazy_dataclass import dataclass

_SLACK_MAX_S = 60.0
_SLACK_SHARE = 0.05
_KEYS_MAX = 1000


@dataclass(slots=True)
class EtcdLease:
    number: int
    ends_at: float
    keys: int


class EtcdLeases:
    """``grant(seconds)`` makes a lease and returns its number."""

    def __init__(self, clock: Clock, grant: Callable[[int], Awaitable[int]]) -> None:
        self._clock = clock
        self._grant = grant
        self._newest: dict[float, EtcdLease] = {}  # by time to live; a server uses one or two

    async def lease_for(self, ttl_s: float) -> int:
        """A lease that lasts at least ``ttl_s`` from now."""
        lease = self._newest.get(ttl_s)
        now = self._clock.monotonic()
        if lease is None or lease.ends_at < now + ttl_s or lease.keys >= _KEYS_MAX:
            seconds = math.ceil(ttl_s + min(_SLACK_MAX_S, _SLACK_SHARE * ttl_s))
            # Counted from before the grant: etcd's own count starts later.
            lease = EtcdLease(await self._grant(seconds), now + seconds, 0)
            self._newest[ttl_s] = lease
        lease.keys += 1
        return lease.number

    def __repr__(self) -> str:
        return f"<EtcdLeases: {len(self._newest)} in use>"
