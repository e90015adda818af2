"""Cluster addresses that were and can be given out, under kube-apiserver's names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from ipaddress import IPv4Address

from proreus.server.allocation.service_ranges import ServiceRanges
from proreus.server.prometheus import (
    Collector,
    CollectorRegistry,
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
)
from proreus.server.watch_cache.cache import WatchCache

_PREFIX = "kube_apiserver_clusterip_allocator"
STATIC, DYNAMIC = "static", "dynamic"  # whether a service named its address


class AddressMetrics(Collector):
    """``addresses``: the cache of the IPAddress objects."""

    def __init__(self, ranges: ServiceRanges, addresses: WatchCache) -> None:
        self._ranges = ranges
        self._addresses = addresses
        self._given: Counter[tuple[str, str]] = Counter()  # by range and scope

    def register(self, registry: CollectorRegistry) -> None:
        registry.register(self)

    def note_given(self, address: str, scope: str) -> None:
        network = self._ranges.network_of(IPv4Address(address))
        if network is not None:
            self._given[str(network), scope] += 1

    def collect(self) -> Iterator[Metric]:
        allocated = GaugeMetricFamily(
            f"{_PREFIX}_allocated_ips",
            "Gauge measuring the number of allocated IPs for Services",
            labels=("cidr",),
        )
        available = GaugeMetricFamily(
            f"{_PREFIX}_available_ips",
            "Gauge measuring the number of available IPs for Services",
            labels=("cidr",),
        )
        taken: Counter[str] = Counter()
        for found in self._addresses.peek_all() or ():
            if ":" not in found.name:
                taken[str(self._ranges.network_of(IPv4Address(found.name)))] += 1
        for network in self._ranges.networks():
            # Neither its own address nor that of broadcasts is given out.
            count, size = taken[str(network)], max(network.num_addresses - 2, 0)
            allocated.add_metric((str(network),), count)
            available.add_metric((str(network),), max(size - count, 0))
        given = CounterMetricFamily(
            f"{_PREFIX}_allocation", "Number of Cluster IPs allocations", labels=("cidr", "scope")
        )
        for labels, count in self._given.items():
            given.add_metric(labels, count)
        yield from (allocated, available, given)
