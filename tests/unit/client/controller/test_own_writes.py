"""Acting on what was written, before the caches show it and after an answer was lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from proreus.api.group_version import GroupResource
from proreus.api.object import KubeObject
from proreus.api.status import Timeout
from proreus.client import Client
from proreus.client.controller import Controller, Request
from proreus.client.controller.own_writes import OwnWrites
from proreus.client.informer import InformerSelection, SharedInformer, SharedInformerFactory
from proreus.client.write_log import observed_by
from proreus.testing.virtual_clock import VirtualClock
from tests.any_server import any_client
from tests.unit.client.informer.scripted import ScriptedListWatch, page

KEY = "default/web"
PODS = GroupResource("", "pods")


@pytest_asyncio.fixture
async def client(given_kubeconfig: str) -> AsyncIterator[Client]:
    async with any_client(given_kubeconfig) as connected:
        yield connected


def pod(name: str, version: int, **metadata: Any) -> KubeObject:
    content = {"name": name, "namespace": "default", "uid": name, "resourceVersion": str(version)}
    return KubeObject.from_dict({"metadata": {**content, **metadata}})


def informer_of_pods(clock: VirtualClock, *answers: Any) -> SharedInformer:
    made = SharedInformer(ScriptedListWatch(*answers), "pods", clock=clock)
    made.includes = InformerSelection("pods").includes
    return made


async def outcome(writes: OwnWrites, clock: VirtualClock) -> str:
    async def waited() -> str:
        try:
            await writes.wait_observed(KEY)
        except Timeout as late:
            return str(late)
        return "seen"

    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(waited())
        await clock.advance(60)
    return waiting.result()


def test_what_was_deleted_is_left_out_until_the_cache_agrees() -> None:
    writes, cached = OwnWrites(), [pod("a", 1), pod("b", 2)]
    writes.follow([informer_of_pods(VirtualClock())])
    writes.of(KEY).deleted(PODS, "default/a", "a")

    assert [one.name for one in writes.without_deleted(KEY, cached)] == ["b"]
    assert [one.name for one in writes.without_deleted("default/other", cached)] == ["a", "b"]
    going = pod("a", 3, deletionTimestamp="2026-01-01T00:00:00Z")
    assert [one.name for one in writes.without_deleted(KEY, [going, cached[1]])] == ["a", "b"]


async def test_a_key_waits_for_the_newest_of_its_writes_and_for_no_other() -> None:
    clock, writes = VirtualClock(), OwnWrites()
    writes.follow([informer_of_pods(clock)])
    writes.of(KEY).wrote(PODS, pod("a", 9), "create")
    writes.of(KEY).wrote(PODS, pod("b", 7), "update")
    writes.of("default/other").wrote(PODS, pod("c", 12), "patch")
    writes.of(KEY).wrote(GroupResource("", "secrets"), pod("d", 15), "create")

    assert "has not reached resource version 9" in await outcome(writes, clock)
    writes.forget(KEY)
    assert await outcome(writes, clock) == "seen"


async def test_after_a_lost_answer_the_newest_object_is_waited_for_and_no_bookmark() -> None:
    clock, writes = VirtualClock(), OwnWrites()
    writes.follow([informer_of_pods(clock, page(pod("unknown", 9), version=23))])
    writes.of(KEY).lost(PODS)

    assert "has not reached resource version 9" in await outcome(writes, clock)


async def test_after_a_lost_answer_what_the_server_no_longer_has_must_leave_the_cache() -> None:
    clock, writes = VirtualClock(), OwnWrites()
    informer = informer_of_pods(clock, *[page(version=23)] * 2)
    writes.follow([informer])
    informer.indexer.put("default/a", pod("a", 9))
    informer.indexer.put("default/made-since", pod("made-since", 24))
    writes.of(KEY).lost(PODS)

    assert "still has what is deleted" in await outcome(writes, clock)
    informer.indexer.remove("default/a")
    assert await outcome(writes, clock) == "seen"


@pytest.mark.parametrize(
    ("selection", "is_certain"),
    [
        (InformerSelection("pods"), True),
        (InformerSelection("pods", namespace="default"), True),
        (InformerSelection("pods", namespace="other"), False),
        (InformerSelection("pods", label_selector="app=web"), True),
        (InformerSelection("pods", label_selector="app!=web"), False),
        (InformerSelection("pods", field_selector="metadata.name=a"), True),
        (InformerSelection("pods", field_selector="metadata.name!=a"), False),
        (InformerSelection("pods", field_selector="spec.nodeName=n"), False),
    ],
)
def test_only_what_an_informer_is_certain_to_see_is_waited_for(
    selection: InformerSelection, is_certain: bool
) -> None:
    assert selection.includes(pod("a", 1, labels={"app": "web"})) is is_certain


async def test_a_reconcile_reads_what_the_one_before_wrote(client: Client) -> None:
    maps, last = client.core_v1.configmaps(client.namespace), 30
    attempts, finished = list[int](), asyncio.Event()

    async def count_up(request: Request) -> None:
        assert request.object is not None
        attempts.append(request.attempt)
        content = request.object.to_dict()
        number = int(content["data"]["n"]) + 1
        if number > last:
            finished.set()
            return
        # Without waiting for the cache the next call would meet a Conflict.
        await maps.replace({**content, "data": {"n": str(number)}})
        controller.queue.add(request.key)

    await maps.create({"metadata": {"name": "a"}, "data": {"n": "0"}})
    async with SharedInformerFactory(client) as informers, asyncio.TaskGroup() as parts:
        selected = informers.informer("configmaps", field_selector="metadata.name=a")
        controller = Controller(count_up, selected)
        informers.start()
        running = parts.create_task(controller.run())
        async with asyncio.timeout(60):
            await finished.wait()
        running.cancel()

    assert set(attempts) == {0}
    assert (await maps.get("a"))["data"] == {"n": str(last)}


async def test_clients_report_what_they_write_and_nothing_that_is_only_tried(
    client: Client,
) -> None:
    maps, seen = client.core_v1.configmaps(client.namespace), list[str]()

    class Observer:
        def wrote(self, resource: GroupResource, written: KubeObject, verb: str) -> None:
            seen.append(f"wrote {resource} {written.name}")

        def deleted(self, resource: GroupResource, key: str, uid: str) -> None:
            seen.append(f"deleted {resource} {key} {uid == made.uid}")

        def lost(self, resource: GroupResource) -> None:
            seen.append(f"lost {resource}")

    made = await maps.create({"metadata": {"name": "before"}})
    with observed_by(Observer()):
        made = await maps.create({"metadata": {"name": "a"}})
        await maps.create({"metadata": {"name": "b"}}, dry_run=True)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(maps.patch("a", {"data": {"k": "v"}}))
        with pytest.raises(Exception, match="already exists"):
            await maps.create({"metadata": {"name": "a"}})
        await maps.delete("a", dry_run=True)
        await maps.delete("a", uid=made.uid)
        with pytest.raises(Exception, match="not found"):
            await maps.delete("a", uid=made.uid)
        await maps.get("before")
        await maps.delete_collection(label_selector="none=such")
    await maps.delete("before")

    assert seen == [
        "wrote configmaps a",
        "wrote configmaps a",
        "lost configmaps",
        f"deleted configmaps {client.namespace}/a True",
        f"deleted configmaps {client.namespace}/a True",
        "lost configmaps",
    ]
