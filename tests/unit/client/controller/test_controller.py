"""Controller: which keys are reconciled, how often, and what failures lead to."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.api.status import Conflict
from proreus.api.wire.framing import WatchEvent
from proreus.client.controller import (
    Controller,
    ReconcileLimits,
    Request,
    Result,
    TerminalError,
    Watch,
    changed_beside_status,
)
from proreus.client.custom_resources import Stored, parse
from proreus.client.informer import Notification, SharedInformer
from proreus.client.typed_informer import TypedInformer
from proreus.client.workqueue import ExponentialPerItem, RateLimitedQueue
from proreus.testing.virtual_clock import VirtualClock
from tests.unit.client.informer.harness import LISTS
from tests.unit.client.informer.scripted import ScriptedListWatch, Stream, page

PATIENCE_S = 60


def thing(
    kind: str,
    name: str,
    version: int,
    *,
    owner: KubeObject | None = None,
    **content: Any,
) -> KubeObject:
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{kind}-{name}",
        "resourceVersion": str(version),
    }
    if owner is not None:
        reference = {"kind": owner.kind, "name": owner.name, "uid": owner.uid, "controller": True}
        metadata["ownerReferences"] = [reference]
    return KubeObject.from_dict({"apiVersion": "v1", "kind": kind, "metadata": metadata} | content)


class World:
    """Informers over streams in the test's hand."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.streams: dict[str, Stream] = {}
        self.informers: list[SharedInformer] = []

    def informer(self, resource: str, *objects: KubeObject) -> SharedInformer:
        stream = self.streams[resource] = Stream()
        made = SharedInformer(
            ScriptedListWatch(page(*objects, version=100), stream),
            resource,
            config=LISTS,
            clock=self.clock,
            randomness=random.Random(7),
        )
        self.informers.append(made)
        return made

    async def changed(self, resource: str, event: str, obj: KubeObject) -> None:
        self.streams[resource].send(WatchEvent(event, obj))
        await self.clock.settle()

    @contextlib.asynccontextmanager
    async def running(self, *controllers: Controller[Any]) -> AsyncIterator[None]:
        parts: list[SharedInformer | Controller[Any]] = [*self.informers, *controllers]
        tasks = [asyncio.ensure_future(part.run()) for part in parts]
        try:
            await self.clock.settle()
            yield
            assert not any(task.done() for task in tasks), tasks
        finally:
            for task in reversed(tasks):
                task.cancel()
            await self.clock.settle()
            await asyncio.gather(*tasks, return_exceptions=True)


class Worker:
    """A reconcile function that notes its requests and answers as it is set to."""

    def __init__(self, *answers: Result | Exception | None) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []

    async def __call__(self, request: Request) -> Result | None:
        self.requests.append(request)
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def keys(self) -> list[str]:
        return [request.key for request in self.requests]


async def test_every_object_and_every_change_is_reconciled_with_its_cached_state() -> None:
    world, worker = World(), Worker()
    primary = world.informer("widgets", thing("Widget", "a", 1))
    async with world.running(Controller(worker, primary)):
        await world.changed("widgets", "MODIFIED", thing("Widget", "a", 101))
        await world.changed("widgets", "DELETED", thing("Widget", "a", 102))

        assert worker.keys == ["default/a"] * 3
        versions = [r.object.resource_version if r.object else None for r in worker.requests]
        assert versions == ["1", "101", None]
        assert (worker.requests[0].namespace, worker.requests[0].name) == ("default", "a")


async def test_a_controller_runs_once_and_refuses_to_run_again() -> None:
    """Two runs would share one queue and its workers."""
    world, worker = World(), Worker()
    controller = Controller(worker, world.informer("widgets", thing("Widget", "a", 1)))
    async with world.running(controller):
        with pytest.raises(RuntimeError, match="runs already, or has run"):
            async with asyncio.timeout(PATIENCE_S):
                await controller.run()

        assert worker.keys == ["default/a"]


async def test_changes_of_owned_objects_concern_their_owner_found_by_uid() -> None:
    world, worker = World(), Worker()
    owner = thing("Widget", "a", 1)
    primary = world.informer("widgets", owner)
    owned = world.informer("pods")
    namesake = KubeObject.from_dict(
        {**owner.to_dict(), "metadata": {"name": "a", "namespace": "default", "uid": "other"}}
    )
    async with world.running(Controller(worker, primary, owns=[owned])):
        worker.requests.clear()
        await world.changed("pods", "ADDED", thing("Pod", "p", 101, owner=owner))
        await world.changed("pods", "ADDED", thing("Pod", "orphan", 102))
        await world.changed("pods", "ADDED", thing("Pod", "foreign", 103, owner=namesake))
        await world.changed("pods", "MODIFIED", thing("Pod", "p", 104))  # set free

        assert worker.keys == ["default/a", "default/a"]


async def test_further_watches_name_the_keys_they_concern() -> None:
    world, worker = World(), Worker()
    primary, maps = world.informer("widgets"), world.informer("configmaps")

    def users(config: KubeObject) -> Iterable[str]:
        return [f"default/{name}" for name in config["users"]]

    async with world.running(Controller(worker, primary, watches=[Watch(maps, users)])):
        await world.changed("configmaps", "ADDED", thing("ConfigMap", "c", 101, users=["x", "y"]))

        assert worker.keys == ["default/x", "default/y"]


async def test_a_watch_among_objects_is_asked_nothing_while_there_are_none() -> None:
    world, worker = World(), Worker()
    primary, maps = world.informer("widgets"), world.informer("configmaps")
    asked: list[str] = []

    def users(config: KubeObject) -> Iterable[str]:
        asked.append(config.name)
        return ["default/a"]

    watch = Watch(maps, users, among=primary.indexer.by_key)
    async with world.running(Controller(worker, primary, watches=[watch])):
        await world.changed("configmaps", "ADDED", thing("ConfigMap", "early", 101))
        await world.changed("widgets", "ADDED", thing("Widget", "a", 102))
        await world.changed("configmaps", "ADDED", thing("ConfigMap", "late", 103))

        assert asked == ["late"]
        assert worker.keys == ["default/a", "default/a"]


@dataclass
class Widget:
    spec: dict[str, int]


async def test_requests_of_a_typed_informer_have_values_of_the_class() -> None:
    world, sizes = World(), list[int | None]()

    async def reconcile(request: Request[Widget]) -> None:
        sizes.append(None if request.value is None else request.value.spec["size"])

    raw = world.informer("widgets", thing("Widget", "a", 1, spec={"size": 1}))
    widgets = TypedInformer(raw, lambda obj: Stored(parse(Widget, obj), obj))
    async with world.running(Controller(reconcile, widgets)):
        await world.changed("widgets", "MODIFIED", thing("Widget", "a", 101, spec={"size": 2}))
        await world.changed("widgets", "DELETED", thing("Widget", "a", 102, spec={"size": 2}))

        assert sizes == [1, 2, None]


async def test_a_predicate_lets_status_updates_of_the_primary_pass_by() -> None:
    world, worker = World(), Worker()
    primary = world.informer("widgets", thing("Widget", "a", 1, spec={"size": 1}))
    async with world.running(Controller(worker, primary, when=changed_beside_status)):
        worker.requests.clear()
        status = thing("Widget", "a", 101, spec={"size": 1}, status={"ready": True})
        await world.changed("widgets", "MODIFIED", status)
        both = thing("Widget", "a", 102, spec={"size": 2}, status={"ready": False})
        await world.changed("widgets", "MODIFIED", both)

        assert [r.object.resource_version for r in worker.requests if r.object] == ["102"]


async def test_a_predicate_that_raises_is_logged_and_the_change_is_reconciled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def when(_: Notification) -> bool:
        raise KeyError("no such field")

    world, worker = World(), Worker()
    primary = world.informer("widgets", thing("Widget", "a", 1))
    async with world.running(Controller(worker, primary, when=when)):
        await world.changed("widgets", "MODIFIED", thing("Widget", "a", 101))

        assert worker.keys == ["default/a"] * 2
    assert "user code failed: role=predicate failures=2" in caplog.text


async def test_keys_that_are_known_of_one_state_only_are_reconciled() -> None:
    def users(config: KubeObject) -> Iterable[str]:
        return [f"default/{name}" for name in config["users"]]

    world, worker = World(), Worker()
    primary, maps = world.informer("widgets"), world.informer("configmaps")
    async with world.running(Controller(worker, primary, watches=[Watch(maps, users)])):
        await world.changed("configmaps", "ADDED", thing("ConfigMap", "c", 101))
        await world.changed("configmaps", "MODIFIED", thing("ConfigMap", "c", 102, users=["x"]))

        assert worker.keys == ["default/x"]


async def test_a_failing_object_is_tried_again_later_and_later() -> None:
    world, worker = World(), Worker(*[ValueError("not yet")] * 3)
    primary = world.informer("widgets", thing("Widget", "a", 1))
    queue: RateLimitedQueue[str] = RateLimitedQueue(
        clock=world.clock, limiter=ExponentialPerItem(1)
    )
    controller = Controller(worker, primary, queue=queue)
    async with world.running(controller):
        await world.clock.advance(0.9)
        early = len(worker.requests)
        await world.clock.advance(10)

        assert early == 1
        assert [r.attempt for r in worker.requests] == [0, 1, 2, 3]
        assert controller.outcomes == {"error": 3, "success": 1}
        assert queue.failures("default/a") == 0


async def test_after_the_last_allowed_retry_it_waits_for_a_change() -> None:
    world, worker = World(), Worker(*[ValueError("never")] * 10)
    primary = world.informer("widgets", thing("Widget", "a", 1))
    controller = Controller(worker, primary, limits=ReconcileLimits(max_retries=2))
    async with world.running(controller):
        await world.clock.advance(60)
        given_up = len(worker.requests)
        await world.changed("widgets", "MODIFIED", thing("Widget", "a", 101))

        assert given_up == 3
        assert len(worker.requests) == 4
        assert controller.outcomes["gave_up"] == 1  # type: ignore[index]  # a StrEnum is its text


async def test_a_reconcile_that_takes_too_long_fails_and_is_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world, calls, release = World(), list[str](), asyncio.Event()

    async def stuck(request: Request) -> None:
        calls.append(request.key)
        await release.wait()

    primary = world.informer("widgets", thing("Widget", "a", 1))
    controller = Controller(stuck, primary, limits=ReconcileLimits(timeout_s=20))
    async with world.running(controller):
        await world.clock.advance(19)
        before = len(calls)
        await world.clock.advance(2)

        release.set()
        assert (before, len(calls)) == (1, 2)
        assert "the reconcile took longer than 20 s" in caplog.text


async def test_every_object_is_reconciled_again_once_per_resync_period() -> None:
    world, worker = World(), Worker()
    primary = world.informer("widgets", thing("Widget", "a", 1), thing("Widget", "b", 2))
    async with world.running(Controller(worker, primary, limits=ReconcileLimits(resync_s=60))):
        first = len(worker.requests)
        await world.clock.advance(125)

        assert (first, len(worker.requests)) == (2, 6)


async def test_changes_are_reconciled_before_what_was_there_at_the_start() -> None:
    world, release = World(), asyncio.Event()
    keys = list[str]()

    async def held(request: Request) -> None:
        keys.append(request.name)
        await release.wait()

    primary = world.informer("widgets", *(thing("Widget", name, 1) for name in "abcd"))
    async with world.running(Controller(held, primary)):
        await world.changed("widgets", "MODIFIED", thing("Widget", "d", 101))
        await world.changed("widgets", "ADDED", thing("Widget", "e", 102))
        release.set()
        await world.clock.settle()

        assert keys == ["a", "d", "e", "b", "c"]


async def test_a_terminal_error_is_not_tried_again() -> None:
    world, worker = World(), Worker(TerminalError("the spec makes no sense"))
    primary = world.informer("widgets", thing("Widget", "a", 1))
    controller = Controller(worker, primary)
    async with world.running(controller):
        await world.clock.advance(60)

        assert len(worker.requests) == 1
        assert controller.outcomes == {"terminal_error": 1}


async def test_a_reconcile_can_ask_to_be_called_again() -> None:
    world, worker = World(), Worker(Result(requeue_after_s=30))
    primary = world.informer("widgets", thing("Widget", "a", 1))
    async with world.running(Controller(worker, primary)):
        await world.clock.advance(29)
        before = len(worker.requests)
        await world.clock.advance(2)

        assert (before, len(worker.requests)) == (1, 2)


async def test_keys_run_beside_each_other_but_no_key_twice_at_once() -> None:
    world = World()
    running: set[str] = set()
    most, twice = 0, False
    release = asyncio.Event()

    async def reconcile(request: Request) -> None:
        nonlocal most, twice
        twice = twice or request.key in running
        running.add(request.key)
        most = max(most, len(running))
        await release.wait()
        running.remove(request.key)

    primary = world.informer("widgets", *[thing("Widget", n, 1) for n in "abcd"])
    async with world.running(Controller(reconcile, primary, concurrency=3)):
        await world.changed("widgets", "MODIFIED", thing("Widget", "a", 101))
        release.set()
        await world.clock.settle()

        assert (most, twice) == (3, False)


@pytest.mark.parametrize(("cooperates", "finished"), [(True, 1), (False, 0)])
async def test_shutdown_lets_running_work_finish_within_the_grace_period(
    cooperates: bool, finished: int
) -> None:
    world = World()
    done: list[str] = []
    started: list[str] = []

    async def reconcile(request: Request) -> None:
        started.append(request.key)
        await world.clock.sleep(10 if cooperates else 1000)
        done.append(request.key)

    primary = world.informer("widgets", thing("Widget", "a", 1), thing("Widget", "b", 1))
    controller = Controller(reconcile, primary)
    async with world.running():
        task = asyncio.ensure_future(controller.run())
        await world.clock.settle()
        task.cancel()
        await world.clock.advance(31)

        assert task.cancelled()
        assert started == ["default/a"], "what waits is not begun"
        assert len(done) == finished


async def test_work_begins_only_when_all_informers_have_synced() -> None:
    world, worker = World(), Worker()
    primary = world.informer("widgets", thing("Widget", "a", 1))
    late = SharedInformer(ScriptedListWatch(), "pods", config=LISTS, clock=world.clock)
    world.informers.append(late)
    controller = Controller(worker, primary, owns=[late])
    async with world.running(controller):
        assert worker.keys == []
        assert repr(controller) == "<Controller widgets not working, 1 keys waiting>"


async def test_expected_failures_leave_no_traceback_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    modified = Conflict("modified")
    world, worker = World(), Worker(modified, modified, ValueError("a bug"), None)
    primary = world.informer("widgets", thing("Widget", "a", 1))

    with caplog.at_level("INFO", "proreus.client.controller"):
        async with world.running(Controller(worker, primary)):
            await world.clock.advance(60)

    logged = [one for one in caplog.records if "reconcile" in one.message]
    assert [(one.levelname, bool(one.exc_info)) for one in logged] == [
        ("INFO", False),
        ("INFO", False),
        ("ERROR", True),
    ]
    assert "key=default/a" in logged[0].message
