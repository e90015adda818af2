"""Builds the parts of custom resources for the server's ``app``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from proreus.aio.clock import Clock
from proreus.aio.supervised_part import NOT_FINISHED
from proreus.server.custom.controller import DefinitionController
from proreus.server.custom.conversion.conversions import Conversions
from proreus.server.custom.conversion.webhooks import Webhooks
from proreus.server.custom.definition.deletion import CONTENTS_FIRST
from proreus.server.custom.definition.rules import definition_rules
from proreus.server.custom.serving.kinds import CustomKinds
from proreus.server.custom.serving.openapi import PublishedSchemas
from proreus.server.key_queue import KeyQueues
from proreus.server.offload import Lane, Offload
from proreus.server.registry.catalog import Catalog
from proreus.server.registry.collections import Collections
from proreus.server.resource import Resource
from proreus.server.webhooks.service_resolver import ServiceResolver

_WHERE = ("apiextensions.k8s.io", "v1", "customresourcedefinitions")


def with_definition_rules(catalog: Catalog, lane: Lane) -> None:
    """Definitions are built in, but what they must obey lives here."""
    resource = catalog.lookup(*_WHERE)
    assert resource is not None, "definitions are built in"
    catalog.add(
        replace(
            resource,
            rules=definition_rules(lane),
            lifecycle=replace(resource.lifecycle, contents_first=CONTENTS_FIRST),
        )
    )


class CustomResources:
    """``kinds`` admits, ``schemas`` are for OpenAPI. ``start`` before requests are taken."""

    def __init__(
        self,
        catalog: Catalog,
        collections: Collections,
        conversions: Conversions,
        clock: Clock,
        *,
        schemas: PublishedSchemas,
        forget_views: Callable[[Resource], None],
        offload: Offload,
        queues: KeyQueues,
    ) -> None:
        self._webhooks = Webhooks(ServiceResolver(collections).resolve, clock)
        self.kinds = CustomKinds(
            catalog,
            collections,
            collections.kinds,
            conversions,
            schemas,
            forget_views,
            self._webhooks,
            offload.custom_objects,
        )
        definitions = collections.named(*_WHERE)
        self._controller = DefinitionController(
            definitions, self.kinds, clock, offload.definitions, queues
        )
        self._has_started = False

    async def start(self) -> None:
        await self._controller.start()
        self._has_started = True

    def fault(self) -> str:
        """Why what was defined before is not served yet, "" if it is."""
        return "" if self._has_started else NOT_FINISHED

    async def run(self) -> None:
        """For ever."""
        async with asyncio.TaskGroup() as parts:
            parts.create_task(self._webhooks.run(), name="custom resources: webhooks")
            parts.create_task(self._controller.run(), name="custom resources: definitions")
