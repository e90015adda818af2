"""Of several processes one copies ConfigMaps: the holder of a Lease.

The program is ``buggy`` in that it asks who leads once, when it begins.
"""

from __future__ import annotations

import asyncio
import os
import sys

from proreus.aio.tasks import background
from proreus.api.status import AlreadyExists, ApiError, Conflict
from proreus.api.values.timestamp import format_micro_time, parse_time
from proreus.client import Client, LeaderElector, LeaseLock
from proreus.client.leader_election import ElectionTiming
from proreus.net.client.transport_error import NotPermitted, TransportError

IS_BUGGY = sys.argv[1] == "buggy"
ME = f"process-{os.getpid()}"
LASTS_S, RENEWED_S = 6, 1.0


async def work(client: Client) -> None:
    while True:
        try:
            await copy(client)
        except NotPermitted:
            raise
        except (TransportError, ApiError):
            continue


async def copy(client: Client) -> None:
    maps = client.core_v1.configmaps("default")
    async with maps.watch(label_selector="copied") as events:
        async for event in events:
            if event.type in ("ADDED", "MODIFIED"):
                name, text = event.object.name, event.object["data"]["text"]
                metadata = {"name": f"{name}-copy"}
                body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
                await maps.apply({**body, "data": {"text": text, "by": ME}}, force=True)


class Lock:
    """A lease by hand, right as far as it goes."""

    def __init__(self, client: Client) -> None:
        self._leases = client.coordination_v1.leases("default")
        self._clock = client.rest.clock

    async def keep(self) -> None:
        while True:
            await self._clock.sleep(RENEWED_S)
            await self.take()

    async def take(self) -> bool:
        now = self._clock.now()
        spec = {"holderIdentity": ME, "renewTime": format_micro_time(now)}
        try:
            await self._leases.create({"metadata": {"name": "copier"}, "spec": spec})
            return True
        except AlreadyExists:
            found = await self._leases.get("copier")
        is_mine = found["spec"]["holderIdentity"] == ME
        if not is_mine and parse_time(found["spec"]["renewTime"]) + LASTS_S > now:
            return False
        try:
            await self._leases.replace({**found.to_dict(), "spec": spec})
        except Conflict:
            return False
        return True


async def buggy(client: Client) -> None:
    lock = Lock(client)
    while not await lock.take():
        await client.rest.clock.sleep(RENEWED_S)
    async with background(lock.keep()):
        await work(client)


async def mended(client: Client) -> None:
    lock = LeaseLock(client.coordination_v1.leases("default"), "default", "copier")
    timing = ElectionTiming(LASTS_S, LASTS_S * 2 / 3, RENEWED_S)
    await LeaderElector(lock, ME, timing=timing).run(lambda: work(client))


async def main() -> None:
    async with Client.from_env() as client:
        await (buggy if IS_BUGGY else mended)(client)


asyncio.run(main())
