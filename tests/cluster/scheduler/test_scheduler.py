"""Pods get nodes, over the wire."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.client import Client, Conflict, KubeObject
from proreus.cluster.scheduler.scheduler import Scheduler


async def add_node(client: Client, name: str, *, cpu: str = "4") -> None:
    """A node that a lifecycle controller has found ready: without the taint of new ones."""
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}},
    }
    await client.core_v1.nodes.create(node)
    await client.core_v1.nodes.patch(name, {"spec": {"taints": None}})


def pod(name: str, *, cpu: str = "100m", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container], **spec},
    }


def is_placed(found: KubeObject | None) -> bool:
    return found is not None and bool(found.spec.nodeName)


def scheduled(found: KubeObject | None) -> Mapping[str, Any]:
    conditions = (found.get("status") or {}).get("conditions") or () if found else ()
    return next((c for c in conditions if c["type"] == "PodScheduled"), {})


def is_unschedulable(found: KubeObject | None) -> bool:
    return scheduled(found).get("reason") == "Unschedulable"


def nominated(found: KubeObject | None) -> str:
    return str((found.get("status") or {}).get("nominatedNodeName") or "") if found else ""


async def event_of(client: Client, reason: str) -> KubeObject:
    """The first event for that reason; events are written when there is time."""
    events = client.core_v1.events("default").watch(field_selector=f"reason={reason}")
    async with asyncio.timeout(60), events as heard:
        return (await anext(heard)).object


async def node_of(client: Client, name: str) -> str:
    found = await client.core_v1.pods("default").wait_for(name, is_placed, timeout_s=60)
    assert found is not None
    return str(found.spec.nodeName)


@pytest_asyncio.fixture
async def scheduling(client: Client) -> AsyncIterator[None]:
    async with background(Scheduler(client, SystemClock()).run()):
        yield


@pytest.mark.usefixtures("scheduling")
async def test_pods_go_where_they_fit(client: Client) -> None:
    await add_node(client, "small", cpu="1")
    await add_node(client, "large", cpu="8")

    await client.core_v1.pods.create(pod("big", cpu="6"))
    await client.core_v1.pods.create(pod("second", cpu="1"))

    assert await node_of(client, "big") == "large"
    assert await node_of(client, "second") in ("small", "large")


@pytest.mark.usefixtures("scheduling")
async def test_room_is_given_away_once(client: Client) -> None:
    for number in range(3):
        await add_node(client, f"n{number}", cpu="1")

    for number in range(3):
        await client.core_v1.pods.create(pod(f"p{number}", cpu="600m"))

    assert {await node_of(client, f"p{number}") for number in range(3)} == {"n0", "n1", "n2"}


@pytest.mark.usefixtures("scheduling")
async def test_a_pod_without_a_place_says_why_and_is_placed_once_there_is_one(
    client: Client,
) -> None:
    await add_node(client, "small", cpu="1")
    await client.core_v1.pods.create(pod("big", cpu="2"))

    # Its first look may be at a node whose taint is just being taken away.
    why = (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
        "1 Preemption is not helpful for scheduling."
    )
    waiting = await client.core_v1.pods("default").wait_for(
        "big", lambda it: is_unschedulable(it) and scheduled(it).get("message") == why, timeout_s=60
    )
    assert scheduled(waiting)["lastTransitionTime"]

    await add_node(client, "large")
    assert await node_of(client, "big") == "large"
    assert (await event_of(client, "FailedScheduling")).involvedObject.name == "big"


@pytest.mark.usefixtures("scheduling")
async def test_pods_of_other_schedulers_and_gated_ones_are_left_alone(client: Client) -> None:
    await add_node(client, "n")
    await client.core_v1.pods.create(pod("foreign", schedulerName="mine"))
    await client.core_v1.pods.create(pod("gated", schedulingGates=[{"name": "example.com/wait"}]))

    await client.core_v1.pods.create(pod("plain"))

    assert await node_of(client, "plain") == "n"
    found = await client.core_v1.pods("default").list()
    assert [p.name for p in found.items if p.spec.nodeName] == ["plain"]

    await client.core_v1.pods("default").patch("gated", {"spec": {"schedulingGates": None}})
    assert await node_of(client, "gated") == "n"


async def test_what_was_placed_before_the_start_counts(client: Client) -> None:
    for name in ("a", "b"):
        await add_node(client, name, cpu="1")
    await client.core_v1.pods.create(pod("old", cpu="800m"))
    await client.core_v1.pods("default").bind("old", "a")
    await client.core_v1.pods.create(pod("new", cpu="800m"))

    async with background(Scheduler(client, SystemClock()).run()):
        assert await node_of(client, "new") == "b"


async def test_a_pod_that_somebody_else_binds_is_not_bound_twice(client: Client) -> None:
    await add_node(client, "a")
    await client.core_v1.pods.create(pod("p"))

    async with background(Scheduler(client, SystemClock()).run()):
        assert await node_of(client, "p") == "a"
        with pytest.raises(Conflict):
            await client.core_v1.pods("default").bind("p", "b")


@pytest.mark.usefixtures("scheduling")
async def test_a_more_important_pod_takes_the_room_of_a_lesser_one(client: Client) -> None:
    await add_node(client, "n", cpu="1")
    important = {"metadata": {"name": "important"}, "value": 1000}
    await client.resource("priorityclasses.scheduling.k8s.io").create(important)
    pods = client.core_v1.pods("default")
    await pods.create(pod("lesser", cpu="800m"))
    await node_of(client, "lesser")

    await pods.create(pod("greater", cpu="800m", priorityClassName="important"))
    leaving = await pods.wait_for(
        "lesser", lambda it: it is not None and bool(it.metadata.deletionTimestamp), timeout_s=60
    )
    waiting = await pods.wait_for("greater", is_unschedulable, timeout_s=60)

    assert leaving is not None
    assert waiting is not None
    assert waiting.status.nominatedNodeName == "n"
    (condition,) = [c for c in leaving.status.conditions or () if c.type == "DisruptionTarget"]
    assert condition.reason == "PreemptionByScheduler"
    assert leaving.metadata.deletionGracePeriodSeconds == 30

    # Room that is being made is not for others, even if they come first when it is free.
    await pods.create(pod("late", cpu="800m"))
    await pods.wait_for("late", is_unschedulable, timeout_s=60)
    await pods.delete("lesser", grace_period_s=0)
    assert await node_of(client, "greater") == "n"
    assert not is_placed(await pods.get("late"))

    event = await event_of(client, "Preempted")
    assert event.message == f"Preempted by pod {waiting.uid} on node n"


@pytest.mark.usefixtures("scheduling")
async def test_who_is_still_more_important_takes_the_room_that_is_being_made(
    client: Client,
) -> None:
    await add_node(client, "n", cpu="1")
    for name, value in (("high", 1000), ("highest", 2000)):
        important = {"metadata": {"name": name}, "value": value}
        await client.resource("priorityclasses.scheduling.k8s.io").create(important)
    pods = client.core_v1.pods("default")
    await pods.create(pod("lesser", cpu="800m"))
    await node_of(client, "lesser")

    await pods.create(pod("greater", cpu="800m", priorityClassName="high"))
    await pods.wait_for("greater", lambda it: nominated(it) == "n", timeout_s=60)
    await pods.create(pod("greatest", cpu="800m", priorityClassName="highest"))

    await pods.wait_for("greatest", lambda it: nominated(it) == "n", timeout_s=60)
    await pods.wait_for(
        "greater", lambda it: is_unschedulable(it) and not nominated(it), timeout_s=60
    )
    await pods.delete("lesser", grace_period_s=0)
    assert await node_of(client, "greatest") == "n"
    assert not is_placed(await pods.get("greater"))
