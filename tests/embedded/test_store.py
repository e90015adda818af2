"""A store in one's own process: values in, values out, every change in order."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from proreus.client import SharedInformerFactory
from proreus.embedded import AlreadyExists, Conflict, Invalid, NotFound, Objects, Store
from proreus.server.storage.interface import StorageLocked
from tests.embedded.kinds import Note, Room, Task


async def names_and_texts(notes: Objects[Note], since: str, count: int) -> list[tuple[str, ...]]:
    """Of the next changes."""
    found: list[tuple[str, ...]] = []
    async with asyncio.timeout(60), notes.watch(since=since) as changes:
        async for change in changes:
            found.append((change.type, change.name, change.value.text if change.value else ""))
            if len(found) == count:
                break
    return found


async def test_values_are_created_read_changed_and_deleted() -> None:
    async with Store(kinds=[Note, Task]) as store:
        notes, tasks = store.of(Note), store.of(Task)
        await notes.create("first", Note("hello"))
        await tasks.create("one", Task(title="write", priority=2))

        found = await notes.get("first")
        await notes.update(found, replace(found.value, text="goodbye"))

        assert (await notes.get("first")).value == Note("goodbye", "nobody")
        assert [task.value for task in await tasks.list()] == [Task(title="write", priority=2)]
        await notes.delete("first")
        assert await notes.list() == []


async def test_what_a_server_refuses_a_store_refuses() -> None:
    async with Store(kinds=[Note, Task]) as store:
        notes = store.of(Note)
        read = await notes.create("a", Note("1"))
        await notes.update(read, Note("2"))

        with pytest.raises(Conflict):
            await notes.update(read, Note("3"))
        with pytest.raises(AlreadyExists):
            await notes.create("a", Note("4"))
        with pytest.raises(NotFound):
            await notes.get("b")
        with pytest.raises(Invalid, match="may not be more than 100"):
            await notes.create("b", Note("x" * 101))
        with pytest.raises(Invalid):
            await store.of(Task).create("b", Task.model_construct(title="t", priority=9))


async def test_writers_at_once_lose_nothing() -> None:
    async with Store(kinds=[Note]) as store:
        notes = store.of(Note)
        await notes.create("shared", Note(""))

        async def append(letter: str) -> None:
            await notes.modify("shared", lambda note: replace(note, text=note.text + letter))

        await asyncio.gather(*map(append, "abc"))

        assert sorted((await notes.get("shared")).value.text) == ["a", "b", "c"]


async def test_a_watch_begins_with_what_is_there_and_goes_on() -> None:
    async with Store(kinds=[Note]) as store:
        notes = store.of(Note)
        await notes.create("a", Note("1"))
        async with asyncio.timeout(60), notes.watch() as changes:
            first = await anext(changes)
            await notes.modify("a", lambda note: replace(note, text="2"))
            await notes.delete("a")
            others = [await anext(changes), await anext(changes)]

    assert [(one.type, one.value and one.value.text) for one in (first, *others)] == [
        ("ADDED", "1"),
        ("MODIFIED", "2"),
        ("DELETED", "2"),
    ]


async def test_a_watch_is_resumed_after_a_restart_and_misses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    async with Store(path, kinds=[Note]) as store:
        notes = store.of(Note)
        await notes.create("a", Note("1"))
        async with asyncio.timeout(60), notes.watch() as changes:
            await anext(changes)
            await notes.create("b", Note("2"))
            await anext(changes)
            version = changes.version
        await notes.modify("a", lambda note: replace(note, text="3"))
        await notes.delete("b")

    async with Store(path, kinds=[Note]) as store:
        missed = await names_and_texts(store.of(Note), version, 2)

    assert missed == [("MODIFIED", "a", "3"), ("DELETED", "b", "2")]


async def test_a_file_is_one_process_at_a_time(tmp_path: Path) -> None:
    async with Store(tmp_path / "notes.db", kinds=[Note]):
        with pytest.raises(StorageLocked, match="is in use by process"):
            async with Store(tmp_path / "notes.db", kinds=[Note]):
                pass


async def test_a_kind_with_namespaces_keeps_them_apart() -> None:
    async with Store(kinds=[Room]) as store:
        await store.of(Room, "north").create("hall", Room(10))
        await store.of(Room, "south").create("hall", Room(20))

        assert (await store.of(Room, "north").get("hall")).value == Room(10)
        assert [room.value for room in await store.of(Room, "south").list()] == [Room(20)]


async def test_only_the_given_kinds_are_there_unless_others_are_asked_for() -> None:
    async with Store(kinds=[Note]) as store:
        with pytest.raises(NotFound):
            await store.client.core_v1.configmaps("default").list()
    async with Store(kinds=[Note], kubernetes=["configmaps"]) as store:
        await store.client.core_v1.configmaps("default").create({"metadata": {"name": "settings"}})
        with pytest.raises(NotFound):
            await store.client.core_v1.secrets("default").list()
    with pytest.raises(ValueError, match="no kinds widgets"):
        async with Store(kinds=[Note], kubernetes=["widgets"]):
            pass


async def test_a_new_store_holds_nothing_that_was_not_put_there(tmp_path: Path) -> None:
    async with Store(tmp_path / "notes.db", kinds=[Note]) as store:
        before = await store.engine.storage.current_revision()
        made = await store.of(Note).create("a", Note("1"))

    assert int(made.object.resource_version) == before + 1 == 2


async def test_informers_run_on_a_store() -> None:
    async with Store(kinds=[Note]) as store, SharedInformerFactory(store.client) as informers:
        await store.of(Note).create("a", Note("1"))
        notes = informers.informer("notes.v1.app.local")
        informers.start()
        async with asyncio.timeout(60):
            await informers.wait_for_cache_sync()

        assert [note.name for note in notes.lister.list()] == ["a"]


async def test_a_store_that_is_not_open_says_so() -> None:
    store = Store(kinds=[Note])

    with pytest.raises(RuntimeError, match="use it as an async context manager"):
        store.of(Note)
    async with store:
        with pytest.raises(ValueError, match="Task is none of the store's kinds"):
            store.of(Task)
