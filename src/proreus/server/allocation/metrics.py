"""Addresses and node ports that were and can be given out, under kube-apiserver's names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from ipaddress import IPv4Address

from proreus.server.allocation.service_ranges import ServiceRanges
from proreus.server.prometheus import (
    Collector,
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
)
from proreus.server.watch_cache.cache import WatchCache

_PREFIX = "kube_apiserver_clusterip_allocator"
_PORTS_PREFIX = "kube_apiserver_nodeport_allocator"
_PORT = re.compile(rb'"(?:nodePort|healthCheckNodePort)":(\d+)')
STATIC, DYNAMIC = "static", "dynamic"  # whether a service named its address or port


class AddressMetrics(Collector):
    """``addresses``: the cache of the IPAddress objects."""

    def __init__(self, ranges: ServiceRanges, addresses: WatchCache) -> None:
        self._ranges = ranges
        self._addresses = addresses
        self._given: Counter[tuple[str, str]] = Counter()  # by range and scope

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


class PortMetrics(Collector):
    """``services``: the cache of the services, whose bytes say which ports they have; decoding
    them all for a scrape would hold the loop."""

    def __init__(self, services: WatchCache, size: int) -> None:
        self._services = services
        self._size = size
        self.given: Counter[str] = Counter()  # by scope
        self.failed: Counter[str] = Counter()

    def collect(self) -> Iterator[Metric]:
        taken: set[bytes] = set()
        for found in self._services.peek_all() or ():
            taken.update(_PORT.findall(found.item))
        yield GaugeMetricFamily(
            f"{_PORTS_PREFIX}_allocated_ports",
            "Gauge measuring the number of allocated NodePorts for Services",
            value=len(taken),
        )
        yield GaugeMetricFamily(
            f"{_PORTS_PREFIX}_available_ports",
            "Gauge measuring the number of available NodePorts for Services",
            value=max(self._size - len(taken), 0),
        )
        for name, text, counts in (
            ("allocation", "Number of NodePort allocations", self.given),
            ("allocation_errors", "Number of errors trying to allocate NodePort", self.failed),
        ):
            family = CounterMetricFamily(f"{_PORTS_PREFIX}_{name}", text, labels=("scope",))
            for scope, count in counts.items():
                family.add_metric((scope,), count)
            yield family
