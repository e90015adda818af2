"""ServiceCIDRs: ready when they have their finalizer, deleted when no address is left without one.

The API server gives out addresses of ranges that are ready and not being deleted. A deletion waits
until every IPAddress of the range is in another range too, or gone; and some seconds more, so that
every API server knows of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from proreus.api.object import KubeObject
from proreus.api.values.timestamp import parse_time
from proreus.client import conditions
from proreus.client.controller import Controller, Result, Watch
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.reconciler import ObjectReconciler

FINALIZER = "networking.k8s.io/service-cidr-finalizer"
_RANGES = "servicecidrs.networking.k8s.io"
_ADDRESSES = "ipaddresses.networking.k8s.io"
_ALLOCATED = ("ipaddress.kubernetes.io/managed-by", "ipallocator.k8s.io")
_GRACE_S = 10.0
_READY = "Kubernetes Service CIDR is ready"
_IN_USE = (
    "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new "
    "ServiceCIDR"
)
Network = IPv4Network | IPv6Network


def networks(service_range: KubeObject) -> list[Network]:
    return [ip_network(text, strict=False) for text in service_range.spec.cidrs or ()]


def is_needed(
    deleted: KubeObject, ranges: Iterable[KubeObject], addresses: Iterable[KubeObject]
) -> bool:
    """Whether an address of a range that is being deleted would be in none without it."""
    own = networks(deleted)
    others = [
        network for other in ranges if other.name != deleted.name for network in networks(other)
    ]
    if all(any(_contains(other, network) for other in others) for network in own):
        return False
    return any(
        _is_in(address, own) and not _is_in(address, others)
        for address in addresses
        if (address.labels or {}).get(_ALLOCATED[0]) == _ALLOCATED[1]
    )


def _is_in(address: KubeObject, ranges: list[Network]) -> bool:
    parsed = ip_address(address.name)
    return any(parsed in network for network in ranges)


def _contains(outer: Network, inner: Network) -> bool:
    if isinstance(outer, IPv4Network):
        return isinstance(inner, IPv4Network) and inner.subnet_of(outer)
    return isinstance(inner, IPv6Network) and inner.subnet_of(outer)


class ServiceCidrs(ObjectReconciler):
    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, _RANGES)
        self.addresses = context.informers.informer(_ADDRESSES)

    async def sync(self, found: KubeObject) -> Result | None:
        if not found.metadata.deletionTimestamp:
            if FINALIZER not in (found.metadata.finalizers or ()):
                found = await self._set_finalizers(
                    found, [*(found.metadata.finalizers or ()), FINALIZER]
                )
            await self._report(found, "True", "", _READY)
            return None
        if is_needed(found, self.informer.indexer.objects(), self.addresses.indexer.objects()):
            await self._report(found, "False", "Terminating", _IN_USE)
            return None
        deleted = parse_time(found.metadata.deletionTimestamp)
        if (left_s := deleted + _GRACE_S - self.clock.now()) > 0:
            return Result(requeue_after_s=left_s)
        kept = [one for one in found.metadata.finalizers or () if one != FINALIZER]
        if len(kept) < len(found.metadata.finalizers or ()):
            await self._set_finalizers(found, kept)
        return None

    async def _set_finalizers(self, found: KubeObject, finalizers: list[str]) -> KubeObject:
        content = found.to_dict()
        content["metadata"]["finalizers"] = finalizers
        return await self.api.replace(content)

    async def _report(self, found: KubeObject, status: str, reason: str, message: str) -> None:
        """Nothing is written if it says so already; what the server said of its own range counts
        for this as well."""
        before = conditions.find(found, "Ready") or {}
        if (before.get("status"), before.get("reason") or "") == (status, reason):
            return
        ready = conditions.condition("Ready", status, reason, message, self.clock.now())
        others = conditions.without_condition(conditions.present(found), "Ready")
        await self.write_status(found, {"conditions": [*others, ready]})

    def deleting(self, _: KubeObject) -> Iterator[str]:
        """Those that may wait for an address to go, or for another range to come."""
        ranges = self.informer.indexer.objects()
        return (one.key for one in ranges if one.metadata.deletionTimestamp)


def service_cidr_controller(context: ControllerContext) -> Controller:
    ranges = ServiceCidrs(context)
    watches = [
        Watch(ranges.addresses, ranges.deleting),
        Watch(ranges.informer, ranges.deleting),
    ]
    return ranges.controller("service-cidrs", watches=watches, concurrency=1)
