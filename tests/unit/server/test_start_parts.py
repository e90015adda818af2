"""Every check of what a server does at its start fails until that is done."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from proreus.aio.clock import Clock, SystemClock
from proreus.aio.tasks import background
from proreus.server.aggregation.building import Aggregation, AggregationInputs
from proreus.server.fairness.fairness import Fairness
from proreus.server.http.health import Check
from proreus.server.key_queue import KeyQueues
from proreus.server.kinds import builtin_resources
from proreus.server.offload import Lane, open_offload
from proreus.server.prometheus import CollectorRegistry
from proreus.server.registry.catalog import Catalog
from proreus.server.registry.collections import Collections
from proreus.server.registry.kinds import KnownKinds
from proreus.server.start_parts import Reachability, StartParts
from proreus.server.storage.interface import Storage
from proreus.server.storage.memory import MemoryStorage
from proreus.server.storage.resource_stores import ResourceStores
from proreus.server.watch_cache.caches import WatchCaches
from proreus.testing.virtual_clock import VirtualClock

WHERE = Reachability(
    address="192.0.2.2", bound="127.0.0.1", port=lambda: 6443, is_alone=True, run_id="run"
)
BY_OBJECTS = {
    "autoregister-completion",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
}


class World:
    """Parts over a store in memory; nothing has begun."""

    def __init__(self, storage: Storage, clock: Clock, lane: Lane, *, has_rbac: bool) -> None:
        catalog = Catalog(builtin_resources())
        registry = CollectorRegistry()
        stores = ResourceStores(storage)
        self.storage = storage
        self.caches = WatchCaches(storage, clock)
        self.collections = Collections(
            stores, self.caches, KnownKinds(catalog), lambda obj, to: obj
        )
        self.collections.serve_all(catalog)
        aggregation = Aggregation(
            AggregationInputs(
                catalog=catalog,
                collections=self.collections,
                registry=registry,
                queues=KeyQueues(registry, clock),
                clock=clock,
                lane=lane,
                identity=None,
                is_own_address=lambda address, port: False,
            )
        )
        self.parts = StartParts(
            self.collections,
            stores,
            clock,
            WHERE,
            Fairness(clock),
            aggregation,
            {},
            registry,
            has_rbac=has_rbac,
        )
        self.starting = "not finished"

    def checks(self) -> dict[str, Check]:
        return self.parts.checks(lambda: self.starting, lambda: self.starting, of_readiness=True)

    def failing(self) -> set[str]:
        return {name for name, check in self.checks().items() if check()}


@asynccontextmanager
async def world(clock: Clock, *, has_rbac: bool = True) -> AsyncIterator[World]:
    async with MemoryStorage.open(clock) as storage, open_offload() as offload:
        yield World(storage, clock, offload.answers, has_rbac=has_rbac)


async def test_no_check_passes_before_anything_is_done() -> None:
    async with world(SystemClock()) as made:
        assert made.failing() == set(made.checks())


async def test_checks_pass_one_after_another_as_things_are_done() -> None:
    clock = VirtualClock()
    async with world(clock) as made:
        await made.parts.make_objects()
        assert set(made.checks()) - made.failing() == BY_OBJECTS

        async with background(made.caches.run()):
            await made.caches.wait_ready()
            made.starting = ""
            kept = {
                "poststarthook/priority-and-fairness-filter",
                "poststarthook/start-system-namespaces-controller",
                "poststarthook/peer-endpoint-reconciler-controller",
                "poststarthook/start-kube-apiserver-identity-lease-controller",
                "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
                "poststarthook/start-service-ip-repair-controllers",
                "poststarthook/priority-and-fairness-config-producer",
                "poststarthook/bootstrap-controller",
                "poststarthook/start-kubernetes-service-cidr-controller",
                "poststarthook/aggregator-reload-proxy-client-cert",
                "poststarthook/apiservice-status-local-available-controller",
                "poststarthook/apiservice-status-remote-available-controller",
                "poststarthook/apiservice-registration-controller",
                "poststarthook/apiservice-discovery-controller",
                "poststarthook/kube-apiserver-autoregistration",
            }
            assert made.failing() == kept, "those are of parts that do not run yet"

            async with background(made.parts.run()):
                await clock.settle()
                assert made.failing() == set()


async def test_roles_are_not_checked_where_they_are_not_made() -> None:
    async with world(SystemClock(), has_rbac=False) as made:
        await made.parts.make_objects()

        assert "poststarthook/rbac/bootstrap-roles" not in made.checks()
        assert (
            await made.collections.named(
                "rbac.authorization.k8s.io", "v1", "clusterroles"
            ).store.count()
            == 0
        )


@pytest.mark.parametrize("name", ["kube-node-lease", "kube-public"])
async def test_a_system_namespace_that_is_gone_is_made_again(name: str) -> None:
    clock = VirtualClock()
    async with world(clock) as made:
        await made.parts.make_objects()
        namespaces = made.collections.named("", "v1", "namespaces")
        async with background(made.caches.run(), made.parts.run()):
            await made.caches.wait_ready()
            await namespaces.store.delete(name)
            await clock.advance(61)

            assert await namespaces.store.get(name) is not None
