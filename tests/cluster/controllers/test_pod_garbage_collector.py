"""Pods of a node that is gone, over the wire and on a virtual clock."""

from __future__ import annotations

import asyncio

from proreus.client.informer import SharedInformerFactory
from proreus.cluster.controller_settings import ControllerSettings
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.pod_garbage_collector import PodGarbageCollector
from proreus.testing.virtual_clock import VirtualClock
from tests.cluster.controllers.stage import Stage, template

CONTROLLERS: tuple[str, ...] = ()


async def test_the_pods_of_a_node_that_is_gone_are_removed_after_quarantine(stage: Stage) -> None:
    stage.plays = False
    pods = stage.client.core_v1.pods("default")
    for node in ("gone", "here"):
        await stage.client.core_v1.nodes.create({"metadata": {"name": node}})
        await pods.create({**template({}, nodeName=node), "metadata": {"name": f"on-{node}"}})
    await stage.client.core_v1.nodes.delete("gone")
    last_node = await stage.client.core_v1.nodes.create({"metadata": {"name": "later"}})
    last_pod = await pods.get("on-here")
    clock = VirtualClock()

    async with asyncio.TaskGroup() as parts, SharedInformerFactory(stage.client) as informers:
        settings = ControllerSettings(pod_gc_period_s=20)
        garbage = PodGarbageCollector(
            ControllerContext(stage.client, clock, informers, parts, settings)
        )
        informers.start()
        await informers.informer("nodes").lister.wait_for_version(last_node.resource_version)
        await informers.informer("pods").lister.wait_for_version(last_pod.resource_version)
        await garbage.collect()
        assert len((await pods.list()).items) == 2
        await clock.advance(40)
        await garbage.collect()

    assert [pod.name for pod in (await pods.list()).items] == ["on-here"]
