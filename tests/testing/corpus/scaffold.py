"""What the operators of the corpus are made of: a kind of their own, and a loop written by hand.

The loop is what people write who know no library: informers, a queue of keys, a retry after a
second. It does not wait for its own writes to come back.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from proreus.api.object import KubeObject
from proreus.api.status import AlreadyExists, ApiError
from proreus.client import Client
from proreus.client.informer import Notification, SharedInformerFactory
from proreus.client.resources.resource_client import ResourceClient
from proreus.net.client.transport_error import TransportError
from proreus.testing.explore import State, World
from proreus.testing.explore.faults import Fault
from proreus.testing.explore.program import RunProgram

THINGS = "things.example.com"  # status is a subresource
PLAINS = "plains.example.com"  # status is a field like any other
RETRY_S = 1.0

Reconcile = Callable[["Tools", str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Case:
    """One operator twice: with a bug, and mended. ``found_by``: the faults that can show it."""

    buggy: RunProgram
    mended: RunProgram
    workload: Callable[[World], Awaitable[None]]
    found_by: tuple[type[Fault], ...]
    invariants: tuple[Callable[[State], object], ...] = ()

    def test(self, program: RunProgram) -> Callable[[World], Awaitable[None]]:
        async def run(world: World) -> None:
            world.run(program)
            await self.workload(world)

        return run


@dataclass(frozen=True, slots=True)
class Tools:
    """What a reconcile by hand has."""

    client: Client
    informers: SharedInformerFactory

    @property
    def things(self) -> ResourceClient:
        return self.client.resource(THINGS)("default")

    @property
    def maps(self) -> ResourceClient:
        return self.client.resource("configmaps")("default")

    def thing(self, name: str) -> KubeObject | None:
        return self.informers.lister(THINGS).find(name, "default")

    def cached(self, resource: str, owner: str) -> list[KubeObject]:
        found = self.informers.lister(resource).list()
        return [one for one in found if one.labels.get("thing") == owner]


async def by_hand(
    client: Client,
    reconcile: Reconcile,
    *,
    watches: Sequence[str] = ("configmaps",),
    primary: str = THINGS,
) -> None:
    """Call ``reconcile`` with the name of a thing whenever it, or what is labelled with it,
    changes."""
    queue: asyncio.Queue[str] = asyncio.Queue()
    async with SharedInformerFactory(
        client, namespace="default", clock=client.rest.clock
    ) as informers:

        def changed(notification: Notification) -> None:
            name = notification.object.labels.get("thing") or ""
            queue.put_nowait(name)

        def thing_changed(notification: Notification) -> None:
            queue.put_nowait(notification.object.name)

        informers.informer(primary).add_handler(on_notification=thing_changed)
        for resource in watches:
            informers.informer(resource).add_handler(on_notification=changed)
        informers.start()
        await informers.wait_for_cache_sync()
        tools = Tools(client, informers)
        while True:
            name = await queue.get()
            try:
                if name:
                    await reconcile(tools, name)
            except (ApiError, TransportError):
                await client.rest.clock.sleep(RETRY_S)
                queue.put_nowait(name)


def thing(name: str, kind: str = "Thing", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": kind, "metadata": metadata, "spec": spec}


def part(owner: str, name: str, **data: str) -> dict[str, Any]:
    """A ConfigMap that belongs to a thing; a name that ends with a dash is completed by the
    server."""
    named = {"generateName": name} if name.endswith("-") else {"name": name}
    metadata = {**named, "namespace": "default", "labels": {"thing": owner}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def ensure(resource: ResourceClient, body: dict[str, Any]) -> None:
    with contextlib.suppress(AlreadyExists):
        await resource.create(body)


def size_of(found: KubeObject) -> int:
    return int((found.get("spec") or {}).get("size") or 0)


def status_of(found: KubeObject) -> dict[str, Any]:
    status = found.get("status")
    return status.to_dict() if isinstance(status, KubeObject) else dict(status or {})


async def definitions(client: Client) -> None:
    """The two kinds, served when it returns."""
    api = client.resource("customresourcedefinitions.apiextensions.k8s.io")
    subresources: dict[str, Any]
    for kind, subresources in (("Thing", {"status": {}}), ("Plain", {})):
        plural = f"{kind.lower()}s"
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": schema},
            "subresources": subresources,
        }
        names = {"plural": plural, "kind": kind}
        spec = {"group": "example.com", "scope": "Namespaced", "names": names}
        name = f"{plural}.example.com"
        await api.create({"metadata": {"name": name}, "spec": {**spec, "versions": [version]}})
        await api.wait_for(name, is_established)


def is_established(found: KubeObject | None) -> bool:
    conditions = (found.get("status") or {}).get("conditions") or () if found else ()
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
