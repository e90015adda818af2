"""Where a webhook's service answers: at its endpoints, else at its address in the cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.api.wire import splice
from proreus.server.kinds import builtin_resources
from proreus.server.registry.catalog import Catalog
from proreus.server.registry.collections import Collections
from proreus.server.registry.kinds import KnownKinds
from proreus.server.storage.memory import MemoryStorage
from proreus.server.storage.resource_stores import ResourceStores
from proreus.server.watch_cache.caches import WatchCaches
from proreus.server.webhooks.client_config import ServiceReference
from proreus.server.webhooks.service_resolver import ServiceResolver, UnresolvedService

Json = dict[str, Any]
SERVICES = ("", "v1", "services")
ENDPOINTS = ("", "v1", "endpoints")
SLICES = ("discovery.k8s.io", "v1", "endpointslices")
PORTS = [{"name": "https", "port": 443}, {"name": "other", "port": 444}]


@asynccontextmanager
async def holding(*objects: tuple[tuple[str, str, str], Json]) -> AsyncIterator[ServiceResolver]:
    clock = SystemClock()
    catalog = Catalog(builtin_resources())
    async with MemoryStorage.open(clock) as storage:
        caches = WatchCaches(storage, clock)
        stores = ResourceStores(storage)
        collections = Collections(stores, caches, KnownKinds(catalog), lambda obj, to: obj)
        collections.serve_all(catalog)
        for where, obj in objects:
            meta = {"name": "hook", "namespace": "ns", **obj.get("metadata", {})}
            stored = splice.stored_from_object({**obj, "metadata": meta})
            await collections.named(*where).store.create(f"ns/{meta['name']}", stored, None)
        async with background(storage.run(), caches.run()):
            await caches.wait_ready()
            yield ServiceResolver(collections)


def service(**spec: Any) -> tuple[tuple[str, str, str], Json]:
    return SERVICES, {"spec": {"clusterIP": "10.0.0.1", "ports": PORTS, **spec}}


def endpoint_slice(*addresses: str, ready: bool = True) -> tuple[tuple[str, str, str], Json]:
    labels = {"kubernetes.io/service-name": "hook"}
    endpoints = [{"addresses": [one], "conditions": {"ready": ready}} for one in addresses]
    ports = [{"name": "other", "port": 1}, {"name": "https", "port": 9443}]
    return SLICES, {
        "metadata": {"name": "hook-x", "labels": labels},
        "endpoints": endpoints,
        "ports": ports,
    }


SUBSETS = [{"addresses": [{"ip": "10.1.0.7"}], "ports": [{"name": "https", "port": 8443}]}]


@pytest.mark.parametrize(
    ("objects", "wanted"),
    [
        ([service(), endpoint_slice("10.1.0.5", "10.1.0.6")], ("10.1.0.5", 9443)),
        ([service(), (ENDPOINTS, {"subsets": SUBSETS})], ("10.1.0.7", 8443)),
        ([service(), endpoint_slice("10.1.0.5", ready=False)], ("10.0.0.1", 443)),
        ([service()], ("10.0.0.1", 443)),
        ([service(type="ExternalName", externalName="a.example.com")], ("a.example.com", 443)),
    ],
)
async def test_an_address_is_found(objects: list[Any], wanted: tuple[str, int]) -> None:
    async with holding(*objects) as resolver:
        assert resolver.resolve(ServiceReference("ns", "hook", 443)) == wanted


@pytest.mark.parametrize(
    ("objects", "port", "message"),
    [
        ([], 443, 'service "hook" not found'),
        ([service()], 80, 'no service port 80 found for service "hook"'),
        ([service(clusterIP="None")], 443, 'no endpoints available for service "hook"'),
    ],
)
async def test_none_is_reported(objects: list[Any], port: int, message: str) -> None:
    async with holding(*objects) as resolver:
        with pytest.raises(UnresolvedService) as refused:
            resolver.resolve(ServiceReference("ns", "hook", port))

    assert str(refused.value) == message
