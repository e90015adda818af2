"""A leader that was frozen goes on as if it led: its write is not stopped by the lease it lost."""

from __future__ import annotations

import secrets
from typing import Any

from proreus.aio.tasks import background
from proreus.api.object import KubeObject
from proreus.api.status import AlreadyExists, Conflict
from proreus.api.values.timestamp import format_micro_time, parse_time
from proreus.client import Client
from proreus.client.operator import LeaderElection, Operator, Reconciliation
from proreus.testing.explore import State, World
from proreus.testing.explore.faults import LeaderChange
from tests.testing.corpus.scaffold import THINGS, Case, Tools, by_hand, size_of, thing

LEASE = "sizes"
LASTS_S, RENEWED_S = 15.0, 5.0


def _sizes(name: str, size: int, writer: str) -> dict[str, Any]:
    metadata = {"name": f"{name}-size", "namespace": "default"}
    data = {"size": str(size), "writer": writer}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


class Lock:
    """A lease by hand, right as far as it goes."""

    def __init__(self, client: Client, identity: str) -> None:
        self._leases = client.resource("leases.coordination.k8s.io")("default")
        self._clock = client.rest.clock
        self._identity = identity

    async def wait_held(self) -> None:
        while not await self._take():
            await self._clock.sleep(RENEWED_S)

    async def keep(self) -> None:
        while True:
            await self._clock.sleep(RENEWED_S)
            await self._take()

    async def _take(self) -> bool:
        now = format_micro_time(self._clock.now())
        spec = {"holderIdentity": self._identity, "renewTime": now}
        try:
            await self._leases.create({"metadata": {"name": LEASE}, "spec": spec})
            return True
        except AlreadyExists:
            found = await self._leases.get(LEASE)
        if found.spec.holderIdentity != self._identity and not self._has_expired(found):
            return False
        try:
            await self._leases.replace({**found.to_dict(), "spec": spec})
        except Conflict:
            return False
        return True

    def _has_expired(self, found: KubeObject) -> bool:
        return parse_time(found.spec.renewTime) + LASTS_S < self._clock.now()


async def buggy(client: Client) -> None:
    me = f"one-{secrets.token_hex(4)}"
    lock = Lock(client, me)
    await lock.wait_held()

    async def reconcile(tools: Tools, name: str) -> None:
        found = tools.thing(name)
        if found is not None:
            await tools.maps.apply(_sizes(name, size_of(found), me), force=True)

    async with background(lock.keep()):
        await by_hand(client, reconcile, watches=())


async def mended(client: Client) -> None:
    me = f"one-{secrets.token_hex(4)}"
    operator = Operator(
        LEASE,
        client=client,
        leader_election=LeaderElection(identity=me),
        address="",
        clock=client.rest.clock,
    )

    @operator.reconciler(THINGS)
    async def reconcile(found: Reconciliation[KubeObject]) -> None:
        body = _sizes(found.name, size_of(found.object), me)
        await found.client.resource("configmaps")("default").apply(body, force=True)

    await operator


def only_the_holder_of_the_lease_writes(state: State) -> bool:
    change = state.change
    if change is None or change.new is None or change.key[0] != "configmaps":
        return True
    lease = state.get("leases.coordination.k8s.io", f"default/{LEASE}")
    return lease is not None and lease.spec.holderIdentity == change.new["data"]["writer"]


async def workload(world: World) -> None:
    things = world.client.resource(THINGS)("default")
    await things.create(thing("a", size=1))
    await world.settle()
    await things.patch("a", {"spec": {"size": 2}})
    await world.settle()


CASE = Case(
    buggy,
    mended,
    workload,
    found_by=(LeaderChange,),
    invariants=(only_the_holder_of_the_lease_writes,),
)
