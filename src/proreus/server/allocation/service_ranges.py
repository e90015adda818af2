"""The ranges that cluster addresses come from: ServiceCIDRs that are ready.

The range ``kubernetes`` is given out first; further ones extend it when it is full. A range that is
being deleted, or not ready yet, gives out nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv4Network

from proreus.api.json_types import Json
from proreus.api.wire import splice
from proreus.server.watch_cache.cache import WatchCache
from proreus.server.watch_cache.cache_follower import CacheFollower
from proreus.server.watch_cache.object import CachedObject

SERVICE_NETWORK = IPv4Network("10.0.0.0/16")
DEFAULT = "kubernetes"
_UNREADABLE = "range of service addresses is unreadable and gives out nothing"
# Addresses are given out from the end of a range; its first few are left for services that name
# their address, until the others are used up.
_STATIC_MIN, _STATIC_MAX, _STATIC_SHARE = 16, 256, 16


class ServiceRanges:
    """Until its cache is loaded there is the default range. ``removed`` is called when that is
    gone."""

    def __init__(self, removed: Callable[[], None]) -> None:
        self._by_name: dict[str, tuple[IPv4Network, ...]] = {DEFAULT: (SERVICE_NETWORK,)}
        self._removed_default = removed

    def follow(self, cache: WatchCache) -> None:
        cache.follow(CacheFollower(self._by_name.clear, self._put, self._removed, _UNREADABLE))

    def contains(self, address: IPv4Address) -> bool:
        """As one that can be given out: not a network's own, not its broadcast address."""
        return self.network_of(address) is not None

    def network_of(self, address: IPv4Address) -> IPv4Network | None:
        found = (one for one in self.networks() if one[0] < address < one[-1])
        return next(found, None)

    def networks(self) -> Iterator[IPv4Network]:
        for networks in self._by_name.values():
            yield from networks

    def candidates(self) -> Iterator[str]:
        """Every address once, from a random one on."""
        for name in sorted(self._by_name, key=lambda name: (name != DEFAULT, name)):
            for network in self._by_name[name]:
                yield from _candidates(network)

    def _put(self, found: CachedObject) -> None:
        self._by_name[found.name] = ready_networks(splice.decode_item(found.item))

    def _removed(self, found: CachedObject) -> None:
        self._by_name.pop(found.name, None)
        if found.name == DEFAULT:
            self._removed_default()


def ready_networks(service_range: Json) -> tuple[IPv4Network, ...]:
    """Of a ServiceCIDR; services here have IPv4 addresses only."""
    if service_range["metadata"].get("deletionTimestamp"):
        return ()
    conditions = (service_range.get("status") or {}).get("conditions") or ()
    if not any(one["type"] == "Ready" and one["status"] == "True" for one in conditions):
        return ()
    ranges = service_range["spec"].get("cidrs") or ()
    return tuple(IPv4Network(text) for text in ranges if ":" not in text)


def _candidates(network: IPv4Network) -> Iterator[str]:
    first, last = int(network[0]) + 1, int(network[-1]) - 1
    split = first + static_part(network)
    for low, high in ((split, last), (first, min(split - 1, last))):
        count = high - low + 1
        if count > 0:
            begin = random.randrange(count)
            for step in range(count):
                yield str(IPv4Address(low + (begin + step) % count))


def static_part(network: IPv4Network) -> int:
    """How many addresses at the beginning are given out last."""
    if network.num_addresses <= _STATIC_MIN:
        return 0
    return max(_STATIC_MIN, min(_STATIC_MAX, network.num_addresses // _STATIC_SHARE))
