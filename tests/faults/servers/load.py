"""Writers that count up objects of their own, and informers that follow them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from proreus.aio.tasks import background
from proreus.api.object import KubeObject
from proreus.client import ApiError, Client, TransportError
from proreus.client.informer import SharedInformer

WITHIN_S = 60


@dataclass(frozen=True, slots=True)
class Size:
    informers: int
    writers: int
    namespaces: int
    pause_s: float = 0.0  # of a writer between two writes


@dataclass(slots=True)
class Load:
    client: Client
    size: Size
    acknowledged: dict[str, int] = field(default_factory=dict)
    failed_writes: int = 0
    informers: list[SharedInformer] = field(default_factory=list)
    quiet: list[SharedInformer] = field(default_factory=list)  # of what nobody writes
    latencies_s: list[float] = field(default_factory=list)
    _progress: asyncio.Event = field(default_factory=asyncio.Event)

    def place(self, number: int) -> str:
        return f"load-{number % self.size.namespaces}"

    async def write(self, writer: int) -> None:
        """For ever. A write whose outcome is unknown is repeated: it sets the same number."""
        maps, name = self.client.core_v1.configmaps(self.place(writer)), f"writer-{writer}"
        number = 0
        while True:
            data = {"number": str(number), "at": repr(time.monotonic())}
            try:
                if number:
                    await maps.patch(name, {"data": data})
                else:
                    body = {"metadata": {"name": name}, "data": data}
                    await maps.apply({"apiVersion": "v1", "kind": "ConfigMap", **body}, force=True)
            except (ApiError, TransportError):
                self.failed_writes += 1
                await asyncio.sleep(0.05)
                continue
            self.acknowledged[f"{self.place(writer)}/{name}"] = number
            self._progress.set()
            number += 1
            await asyncio.sleep(self.size.pause_s)

    async def wait_writes(self, count: int) -> None:
        """Until every writer has counted ``count`` further."""
        places = [f"{self.place(each)}/writer-{each}" for each in range(self.size.writers)]
        wanted = {each: self.acknowledged.get(each, -1) + count for each in places}
        async with asyncio.timeout(2 * WITHIN_S):
            while any(self.acknowledged.get(each, -1) < wanted[each] for each in places):
                self._progress.clear()
                await self._progress.wait()

    def heard(self, _: KubeObject | None, new: KubeObject) -> None:
        self.latencies_s.append(time.monotonic() - float(new["data"]["at"]))

    async def wait_equal(self) -> None:
        """Writers have ended. Every acknowledged write is stored, and every informer has it."""
        for namespace in {self.place(each) for each in range(self.size.namespaces)}:
            listed = await self.client.core_v1.configmaps(namespace).list()
            stored = {each.key: each for each in listed}
            for key, number in self.acknowledged.items():
                if key.startswith(f"{namespace}/"):
                    assert int(stored[key]["data"]["number"]) >= number, f"lost: {stored[key]}"
            for informer in self.informers:
                if informer.name == namespace:
                    await _wait_same(informer, stored)


async def _wait_same(informer: SharedInformer, stored: Mapping[str, KubeObject]) -> None:
    wanted = {key: obj.resource_version for key, obj in stored.items()}
    async with asyncio.timeout(WITHIN_S):
        while True:
            found = {each.key: each.resource_version for each in informer.lister.list()}
            if found == wanted:
                return
            await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def loaded(client: Client, size: Size) -> AsyncIterator[Load]:
    """A load, checked when the body is done with its faults."""
    load = Load(client, size)
    for number in range(size.namespaces):
        metadata = {"name": load.place(number)}
        await client.core_v1.namespaces.create({"metadata": metadata})
    for number in range(size.informers):
        place = load.place(number)
        informer = SharedInformer(client.core_v1.configmaps(place).list_watch(), place)
        informer.add_handler(on_update=load.heard)
        load.informers.append(informer)
    for number in range(size.namespaces):
        secrets = client.core_v1.secrets(load.place(number)).list_watch()
        load.quiet.append(SharedInformer(secrets, f"secrets-{number}"))
    everyone = [*load.informers, *load.quiet]
    async with background(*(informer.run() for informer in everyone)):
        for informer in everyone:
            await informer.wait_synced()
        async with background(*(load.write(writer) for writer in range(size.writers))):
            await load.wait_writes(5)
            yield load
        await load.wait_equal()
