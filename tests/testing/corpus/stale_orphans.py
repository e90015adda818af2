"""A stale read after a restart deletes live pods: they look like orphans."""

from __future__ import annotations

from typing import Any

from proreus.api.status import NotFound
from proreus.client import Client
from proreus.testing.explore import State, World
from proreus.testing.explore.faults import Delay, Hide, Stale
from tests.testing.corpus.scaffold import Case, Tools, by_hand, ensure, thing


def _pod(owner: str) -> dict[str, Any]:
    metadata = {"name": f"{owner}-pod", "namespace": "default", "labels": {"thing": owner}}
    containers = [{"name": "main", "image": "busybox"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": containers},
    }


async def _reconcile(tools: Tools, name: str, *, looks_twice: bool) -> None:
    pods = tools.client.resource("pods")("default")
    if tools.thing(name) is not None:
        await ensure(pods, _pod(name))
    for pod in await pods.list(label_selector="thing"):
        owner = pod.labels["thing"]
        if tools.thing(owner) is None and not (looks_twice and await _exists(tools, owner)):
            await pods.delete(pod.name, uid=pod.uid)


async def _exists(tools: Tools, name: str) -> bool:
    try:
        await tools.things.get(name)
    except NotFound:
        return False
    return True


async def buggy(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        await _reconcile(tools, name, looks_twice=False)  # believes the cache

    await by_hand(client, reconcile, watches=("pods",))


async def mended(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        await _reconcile(tools, name, looks_twice=True)

    await by_hand(client, reconcile, watches=("pods",))


def never_deletes_a_pod_whose_thing_is_there(state: State) -> bool:
    pod = state.deleted("pods")
    return pod is None or state.get("things.example.com", f"default/{pod.labels['thing']}") is None


async def workload(world: World) -> None:
    things = world.client.resource("things.example.com")("default")
    await things.create(thing("a"))
    await world.settle()
    await things.create(thing("b"))
    await world.settle()
    await things.delete("a")
    await world.settle()


CASE = Case(
    buggy,
    mended,
    workload,
    found_by=(Stale, Delay, Hide),
    invariants=(never_deletes_a_pod_whose_thing_is_there,),
)
