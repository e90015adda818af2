"""Addresses for nodes and pods. Pure.

Each node has a /24 of 10.64.0.0/10 for its pods, and an address of its own that goes with it. Nodes
that were there before keep theirs, so several kubelet processes on one cluster do not collide as
long as they do not register their nodes at the same moment. A node that may see nobody but itself
has a range that follows from its name: nodes of one prefix never collide, those of two seldom.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from zlib import crc32

_PODS = ipaddress.IPv4Network("10.64.0.0/10")
_NODES = ipaddress.IPv4Address("172.20.0.1")
_PREFIX = 24
_SIZE = 2 ** (32 - _PREFIX)
_NODES_MAX = 2 ** (_PREFIX - _PODS.prefixlen)
_DIGITS_MAX = 18


@dataclass(slots=True)
class NodeAddresses:
    """``take`` gives each pod, by uid, an address that no other pod of the node has."""

    pod_cidr: str
    host_ip: str
    _of: dict[str, str] = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)

    def take(self, uid: str, wanted: str = "") -> str:
        """``wanted``: the address that the pod had before this process began. One outside of this
        node's range was given by another runtime, and no process could listen on it here."""
        known = self._of.get(uid)
        if known is not None:
            return known
        may_keep = bool(wanted) and wanted not in self._used and self._has(wanted)
        chosen = wanted if may_keep else next(self._free(), "")
        self._of[uid] = chosen
        self._used.add(chosen)
        return chosen

    def release(self, uid: str) -> None:
        self._used.discard(self._of.pop(uid, ""))

    def _has(self, address: str) -> bool:
        try:
            return ipaddress.IPv4Address(address) in _network(self.pod_cidr)
        except ValueError:
            return False

    def _free(self) -> Iterator[str]:
        first = int(_network(self.pod_cidr).network_address) + 2
        # Addresses go round, so that one just released is not given out at once.
        start = len(self._of)
        for offset in range(_SIZE - 3):
            address = _dotted(first + (start + offset) % (_SIZE - 3))
            if address not in self._used:
                yield address


def node_addresses(
    names: Iterable[str], taken: Iterable[tuple[str, str]]
) -> dict[str, NodeAddresses]:
    """``taken``: name and pod CIDR of the nodes that exist."""
    known = dict(taken)
    used = set(known.values())
    free = (index for index in range(_NODES_MAX) if _cidr(index) not in used)
    return {name: _addresses(known.get(name) or _cidr(next(free))) for name in names}


def own_addresses(name: str, taken: str = "") -> NodeAddresses:
    """Of a node that does not know the others; ``taken``: the pod CIDR that it has already."""
    prefix, _, number = name.rpartition("-")
    if not number.isdecimal():
        prefix, number = name, "0"
    index = (crc32(prefix.encode()) + int(number[:_DIGITS_MAX])) % _NODES_MAX
    return _addresses(taken or _cidr(index))


def _cidr(index: int) -> str:
    return f"{_PODS.network_address + index * _SIZE}/{_PREFIX}"


def _dotted(address: int) -> str:
    return f"{address >> 24}.{address >> 16 & 255}.{address >> 8 & 255}.{address & 255}"


@lru_cache(maxsize=1024)
def _network(pod_cidr: str) -> ipaddress.IPv4Network:
    return ipaddress.IPv4Network(pod_cidr)


def _addresses(pod_cidr: str) -> NodeAddresses:
    network = ipaddress.IPv4Network(pod_cidr)
    index = (int(network.network_address) - int(_PODS.network_address)) // _SIZE
    return NodeAddresses(pod_cidr, str(_NODES + index % 2**16))
