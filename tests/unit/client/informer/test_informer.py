"""SharedInformer: the cache first, then every handler, in order, whatever handlers do."""

from __future__ import annotations

import asyncio

import pytest

from proreus.api.object import KubeObject
from proreus.api.status import Expired
from proreus.api.wire.framing import WatchEvent
from proreus.client.informer import InformerStopped, Notification, ReflectorConfig
from proreus.net.client.transport_error import ConnectionLost
from tests.unit.client.informer.harness import Diary, informer_of, running, versions
from tests.unit.client.informer.scripted import (
    Asked,
    Stream,
    added,
    bookmark,
    deleted,
    modified,
    page,
    pod,
)

EXPIRED = Expired("too old")
LOST = ConnectionLost("https://x", "reset")


async def test_handlers_hear_of_the_collection_and_of_every_change() -> None:
    stream, diary = Stream(), Diary()
    bench = informer_of(page(pod("a", 3), version=7), stream)
    bench.informer.add_handler(on_notification=diary)
    async with running(bench):
        stream.send(added("b", 8), modified("a", 9), deleted("b", 10))
        await bench.settle()

        # Each object's changes in order; across objects by first arrival.
        assert diary.read() == ["add a 3 initial", "add b 8", "delete b 10", "update a 3→9"]
        assert versions(bench.informer.lister.list()) == {"a": "9"}


async def test_a_server_whose_versions_are_no_numbers_is_followed_too() -> None:
    stream, diary = Stream(), Diary()
    bench = informer_of(page(pod("a", "x1"), version="x7"), stream)
    bench.informer.add_handler(on_notification=diary)
    async with running(bench):
        stream.send(WatchEvent("MODIFIED", pod("a", "x8")))
        await bench.settle()

        assert bench.informer.has_synced
        assert diary.read() == ["add a x1 initial", "update a x1→x8"]
        assert bench.informer.status().restarts == 0


async def test_plain_and_async_functions_are_called_with_plain_arguments() -> None:
    heard: list[tuple[str, ...]] = []

    async def on_update(old: KubeObject, new: KubeObject) -> None:
        await asyncio.sleep(0)
        heard.append(("updated", old.resource_version, new.resource_version))

    stream = Stream(modified("a", 8), deleted("a", 9))
    bench = informer_of(page(pod("a", 3), version=7), stream)
    bench.informer.add_handler(
        lambda obj: heard.append(("added", obj.name)),
        on_update,
        lambda obj: heard.append(("deleted", obj.resource_version)),
    )
    async with running(bench):
        assert heard == [("added", "a"), ("updated", "3", "8"), ("deleted", "9")]


async def test_a_handler_need_not_listen_to_every_kind_of_change() -> None:
    heard: list[str] = []
    bench = informer_of(
        page(pod("a", 3), version=7), Stream(added("b", 8), modified("a", 9), deleted("a", 10))
    )
    handlers = [
        bench.informer.add_handler(on_add=lambda obj: heard.append(f"added {obj.name}")),
        bench.informer.add_handler(on_update=lambda old, new: heard.append(f"updated {new.name}")),
        bench.informer.add_handler(on_delete=lambda obj: heard.append(f"deleted {obj.name}")),
    ]
    async with running(bench):
        assert sorted(heard) == ["added a", "added b", "deleted a", "updated a"]
        assert [handler.failure_count for handler in handlers] == [0, 0, 0]


async def test_the_cache_is_updated_before_a_handler_is_notified() -> None:
    found: list[str] = []
    bench = informer_of(page(version=7), Stream(added("a", 8)))
    bench.informer.add_handler(
        lambda obj: found.append(bench.informer.lister.get(obj.key).resource_version)
    )
    async with running(bench):
        assert found == ["8"]


async def test_an_object_removed_while_disconnected_is_reported_with_its_last_state() -> None:
    """client.md §14 case 28."""
    diary = Diary()
    stream = Stream(modified("gone", 8)).fail(EXPIRED)
    bench = informer_of(
        page(pod("gone", 3), pod("stays", 4), version=7),
        stream,
        page(pod("new", 12), pod("stays", 11), version=12),
    )
    bench.informer.add_handler(on_notification=diary)
    async with running(bench):
        diary.read()
        await bench.clock.advance(2)

        assert diary.read() == ["delete gone 8 guessed", "add new 12", "update stays 4→11"]


async def test_deleted_and_made_again_while_disconnected_is_one_update_with_two_uids() -> None:
    """client.md §14 case 29."""
    uids: list[tuple[str, str]] = []
    bench = informer_of(
        page(pod("a", 3, uid="first"), version=7),
        Stream().fail(EXPIRED),
        page(pod("a", 12, uid="second"), version=12),
    )
    bench.informer.add_handler(on_update=lambda old, new: uids.append((old.uid, new.uid)))
    async with running(bench):
        await bench.clock.advance(2)

        assert uids == [("first", "second")]


async def test_a_relist_that_changes_nothing_is_silent() -> None:
    """client.md §14 case 30: client-go may repeat unchanged objects; here nobody is notified."""
    diary = Diary()
    bench = informer_of(
        page(pod("a", 3), version=7), Stream().fail(EXPIRED), page(pod("a", 3), version=9)
    )
    bench.informer.add_handler(on_notification=diary)
    async with running(bench):
        diary.read()
        await bench.clock.advance(2)

        assert bench.script.asked[-1] == Asked("watch", "9")
        assert diary.read() == []


async def test_a_late_handler_hears_of_each_object_once_and_of_every_later_change() -> None:
    """client.md §14 case 31."""
    stream, early, late = Stream(), Diary(), Diary()
    bench = informer_of(page(pod("a", 3), pod("b", 4), version=7), stream)
    bench.informer.add_handler(on_notification=early)
    async with running(bench):
        stream.send(modified("a", 8), modified("a", 9), added("c", 10))
        for _ in range(3):
            await asyncio.sleep(0)  # some changes are applied, some are not
        bench.informer.add_handler(on_notification=late)
        stream.send(modified("b", 11))
        await bench.settle()

        heard = late.read()
        state: dict[str, str] = {}
        for note in heard:
            change, name, seen = note.split()[:3]
            assert (change == "add") == (name not in state), heard
            assert "→" not in seen or seen.split("→")[0] == state[name], heard
            state[name] = seen.split("→")[-1]
        assert state == {"a": "9", "b": "11", "c": "10"}


async def test_a_blocked_handler_holds_up_neither_the_others_nor_the_cache() -> None:
    """client.md §14 case 32. Guarantee: nothing starves."""
    stream, free, release = Stream(), Diary(), asyncio.Event()

    async def blocked(_: KubeObject) -> None:
        await release.wait()

    bench = informer_of(page(pod("a", 3), version=7), stream)
    stuck = bench.informer.add_handler(blocked, name="stuck")
    bench.informer.add_handler(on_notification=free)
    async with running(bench):
        stream.send(added("b", 8), added("c", 9))
        await bench.settle()

        assert free.read() == ["add a 3 initial", "add b 8", "add c 9"]
        assert len(bench.informer.indexer) == 3
        assert repr(stuck) == "<Handler stuck not synced, 2 pending>"
        release.set()


async def test_an_immediate_handler_is_called_before_all_others() -> None:
    order: list[str] = []
    bench = informer_of(page(pod("a", 3), version=7), Stream(added("b", 8)))
    bench.informer.add_handler(lambda obj: order.append(f"other {obj.name}"))
    noted = bench.informer.add_handler(
        on_notification=lambda change: order.append(f"noted {change.object.name}"),
        is_immediate=True,
    )
    async with running(bench):
        for name in ("a", "b"):
            assert order.index(f"noted {name}") < order.index(f"other {name}")
        assert (noted.has_synced, noted.pending, len(order)) == (True, 0, 4)


async def test_an_immediate_handler_that_raises_costs_only_itself() -> None:
    diary = Diary()

    def fails(_: Notification) -> None:
        raise RuntimeError("no")

    bench = informer_of(page(pod("a", 3), version=7), Stream(added("b", 8)))
    failing = bench.informer.add_handler(on_notification=fails, is_immediate=True)
    bench.informer.add_handler(on_notification=diary)
    async with running(bench):
        assert diary.read() == ["add a 3 initial", "add b 8"]
        assert failing.failure_count == 2


async def test_an_immediate_handler_is_resynced_until_it_is_removed() -> None:
    stream, diary = Stream(), Diary()
    bench = informer_of(page(pod("a", 3), version=7), stream)
    handler = bench.informer.add_handler(on_notification=diary, resync_s=60, is_immediate=True)
    async with running(bench):
        for _ in range(2):
            diary.read()
            await bench.clock.advance(60)
            assert len(diary.read()) == 1
        bench.informer.remove_handler(handler)
        stream.send(added("b", 8))
        await bench.settle()

        assert diary.read() == []


async def test_a_handler_inside_its_last_initial_call_has_not_synced() -> None:
    """client.md §14 case 33."""
    release = asyncio.Event()

    async def slow(_: KubeObject) -> None:
        await release.wait()

    bench = informer_of(page(pod("a", 3), version=7))
    handler = bench.informer.add_handler(slow)
    async with running(bench):
        before = (bench.informer.has_synced, handler.has_synced)
        release.set()
        await handler.wait_synced()

        assert before == (True, False)
        assert handler.has_synced


async def test_an_empty_collection_syncs() -> None:
    """client.md §14 case 34."""
    listed = informer_of(page(version=7))
    streamed = informer_of(Stream(bookmark(7, end=True)), config=ReflectorConfig())
    for bench in (listed, streamed):
        handler = bench.informer.add_handler()
        async with running(bench):
            assert bench.informer.has_synced
            assert handler.has_synced


async def test_the_transform_sees_each_object_once_and_no_tombstones_or_resyncs() -> None:
    """client.md §14 case 35."""
    calls: list[str] = []

    def count(obj: KubeObject) -> KubeObject:
        calls.append(obj.name)
        return obj

    bench = informer_of(
        page(pod("a", 3), pod("b", 4), version=7),
        Stream(modified("a", 8)).fail(EXPIRED),
        page(pod("a", 8), version=9),
        transform=count,
    )
    bench.informer.add_handler(lambda _: None, resync_s=10)
    async with running(bench):
        await bench.clock.advance(30)

        assert calls == ["a", "b", "a", "a"], "two listed, one event, one relisted; b's end: none"


async def test_a_raising_handler_is_counted_logged_and_stops_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Guarantee: nothing starves."""
    calm = Diary()

    def raises(obj: KubeObject) -> None:
        raise ValueError(f"cannot digest {obj.name}")

    bench = informer_of(page(pod("a", 3), pod("b", 4), version=7), Stream(added("c", 8)))
    angry = bench.informer.add_handler(raises, name="angry")
    bench.informer.add_handler(on_notification=calm)
    async with running(bench):
        assert angry.failure_count == 3
        assert angry.has_synced, "a failed call counts: the handler has had its chance"
        assert calm.read() == ["add a 3 initial", "add b 4 initial", "add c 8"]
        assert "cannot digest c" in caplog.text


async def test_a_removed_handler_hears_nothing_more() -> None:
    stream, diary = Stream(), Diary()
    bench = informer_of(page(version=7), stream)
    handler = bench.informer.add_handler(on_notification=diary)
    async with running(bench):
        stream.send(added("a", 8))
        await bench.settle()
        bench.informer.remove_handler(handler)
        bench.informer.remove_handler(handler)
        stream.send(added("b", 9))
        await bench.settle()

        assert diary.read() == ["add a 8"]
        with pytest.raises(ValueError, match="not a handler of"):
            bench.informer.remove_handler(informer_of().informer.add_handler())


async def test_each_handler_is_reminded_at_its_own_period() -> None:
    often, rarely, never = Diary(), Diary(), Diary()
    bench = informer_of(page(pod("a", 3), version=7))
    bench.informer.add_handler(on_notification=often, resync_s=10)
    bench.informer.add_handler(on_notification=rarely, resync_s=25)
    bench.informer.add_handler(on_notification=never)
    async with running(bench):
        await bench.clock.advance(31)

        again = "update a 3→3 resync"
        assert often.read() == ["add a 3 initial", again, again, again]
        assert rarely.read() == ["add a 3 initial", again]
        assert never.read() == ["add a 3 initial"]


async def test_reminders_do_not_pile_up_before_a_slow_handler() -> None:
    release, calls = asyncio.Event(), Diary()

    async def slow(*_: KubeObject) -> None:
        await release.wait()

    bench = informer_of(page(pod("a", 3), pod("b", 4), version=7))
    handler = bench.informer.add_handler(None, slow, on_notification=calls, resync_s=1, name="slow")
    async with running(bench):
        await bench.clock.advance(10)

        assert handler.pending <= 1
        release.set()


async def test_status_reports_how_the_watch_is_and_why_it_was_reopened() -> None:
    """Guarantee: alive or loud."""
    first = Stream(modified("a", 8), bookmark(20))
    bench = informer_of(page(pod("a", 3), version=7), first)
    bench.informer.add_handler(name="one")
    before = bench.informer.status()
    async with running(bench):
        await bench.clock.advance(30)
        first.fail(LOST)
        await bench.clock.advance(5)
        status = bench.informer.status()

        assert (before.phase, before.is_healthy()) == ("not started", False)
        assert status.phase == "watching"
        assert status.last_event_age_s == status.last_bookmark_age_s == 35
        assert status.resource_version == "20"
        assert (status.reconnects, status.reconnect_causes) == (1, {"cut": 1})
        assert "reset" in status.last_failure
        assert (status.object_count, status.lag_s, status.queued_deltas) == (1, 0, 0)
        assert [h.name for h in status.handlers] == ["one"]
        assert status.is_healthy(60) and not status.is_healthy(20)
    assert bench.informer.status().phase == "stopped"


async def test_a_part_that_dies_of_a_bug_is_restarted_loudly_and_loses_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Guarantee: alive or loud."""
    stream, diary = Stream(), Diary()
    bench = informer_of(page(version=7), stream, page(pod("a", 8), version=8))
    bench.informer.add_handler(on_notification=diary)
    async with running(bench):
        stream.fail(ZeroDivisionError("a bug"))
        await bench.clock.advance(5)

        assert diary.read() == ["add a 8"]
        assert bench.informer.status().restarts == 1
        assert "part died, restarting" in caplog.text


async def test_a_stopped_informer_stays_stopped() -> None:
    bench = informer_of(page(version=7))
    async with running(bench):
        with pytest.raises(RuntimeError, match="runs already"):
            await bench.informer.run()

    with pytest.raises(InformerStopped):
        bench.informer.add_handler()
    with pytest.raises(InformerStopped):
        bench.informer.add_indexes({})
    assert repr(bench.informer) == "<SharedInformer of 0 pods, synced>"


async def test_cached_objects_cannot_be_changed() -> None:
    bench = informer_of(page(pod("a", 3, app="web"), version=7))
    async with running(bench):
        found = bench.informer.lister.get("a", "default")

        with pytest.raises(TypeError, match="read-only"):
            found.spec.nodeName = "elsewhere"
        with pytest.raises(TypeError):
            found["metadata"]["labels"]["app"] = "db"
        assert found.labels == {"app": "web"}
