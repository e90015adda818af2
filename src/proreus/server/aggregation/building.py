"""Builds the parts of aggregation for the server's ``app``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from proreus.aio.clock import Clock
from proreus.aio.supervised_part import NOT_FINISHED, SupervisedPart
from proreus.lazy_dataclass import dataclass
from proreus.net.tls.key_pairs import PairFiles
from proreus.server.aggregation.api_service import REGISTRATION
from proreus.server.aggregation.backend import Surroundings
from proreus.server.aggregation.local_services import LocalApiServices
from proreus.server.aggregation.metrics import AggregationMetrics
from proreus.server.aggregation.remote import RemoteParts
from proreus.server.aggregation.remotes import BehindServices, Remotes
from proreus.server.aggregation.statuses import Statuses
from proreus.server.discovery.api_services import ApiServices
from proreus.server.key_queue import KeyQueues
from proreus.server.offload import Lane
from proreus.server.prometheus import CollectorRegistry
from proreus.server.registry.catalog import Catalog
from proreus.server.registry.collections import Collections

_CHECKS_AT_ONCE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregationInputs:
    """``identity``: the front-proxy certificate; without one other servers see nobody.
    ``is_own_address`` (IP address, port): whether this server itself listens there."""

    catalog: Catalog  # of built-in kinds
    collections: Collections
    registry: CollectorRegistry
    queues: KeyQueues
    clock: Clock
    lane: Lane
    identity: PairFiles | None
    is_own_address: Callable[[str, int], bool]


class Aggregation:
    """Made before the caches are filled: it follows them."""

    def __init__(self, inputs: AggregationInputs) -> None:
        collections, clock = inputs.collections, inputs.clock
        behind = BehindServices(collections)
        self.local = LocalApiServices(
            collections, inputs.catalog.group_versions(), clock, inputs.queues
        )
        statuses = Statuses(
            collections.named(*REGISTRATION), AggregationMetrics(inputs.registry), clock
        )
        parts = RemoteParts(
            behind=behind.objects,
            statuses=statuses,
            table=ApiServices(),
            checks=asyncio.Semaphore(_CHECKS_AT_ONCE),
            lane=inputs.lane,
            clock=clock,
        )
        around = Surroundings(behind.addresses, inputs.identity, inputs.is_own_address, clock)
        self.remotes = Remotes(collections, self.local, behind, around, parts)

        self.registration = SupervisedPart("local API services", self.local.run, clock)

    def idleness(self) -> str:
        """Why API services of other servers have no effect, "" if they have."""
        return "" if self.remotes.is_running else NOT_FINISHED

    async def run(self) -> None:
        """For ever."""
        async with asyncio.TaskGroup() as running:
            running.create_task(self.registration.run(), name="aggregation: local API services")
            running.create_task(self.remotes.run(), name="aggregation: remote API services")
