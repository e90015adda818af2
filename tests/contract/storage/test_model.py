"""Random histories, compared with the plainest model: a list of all writes ever made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from uuid import uuid4

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from proreus.server.storage.interface import (
    ChangeBatch,
    Compacted,
    KeyExists,
    RevisionConflict,
    Storage,
)
from tests.contract.storage.conftest import OpenBackend

NAMES = st.sampled_from(["a", "a/b", "a/c", "ab", "b", "b/a", "é"])
OBJECTS = st.integers(0, 3).map(lambda n: b'{"metadata":{"name":"a"},"data":{"n":%d}}' % n)
VALUES = st.binary(max_size=20) | OBJECTS


class History(RuleBasedStateMachine):
    """Writes go to a store and to the model; every read must agree."""

    open_backend: OpenBackend

    def __init__(self) -> None:
        super().__init__()
        self.place = f"/registry/{uuid4().hex}/"
        self.runner = asyncio.Runner()
        self.resources = AsyncExitStack()
        self.storage = self.runner.run(self.start())
        self.first = self.runner.run(self.storage.current_revision())
        self.writes: list[tuple[int, str, bytes | None]] = []
        self.compacted = 0

    async def start(self) -> Storage:
        return (await self.resources.enter_async_context(self.open_backend())).storage

    def teardown(self) -> None:
        self.runner.run(self.check_watches())
        self.runner.run(self.resources.aclose())
        self.runner.close()

    def state(self, revision: int) -> dict[str, tuple[int, bytes]]:
        state: dict[str, tuple[int, bytes]] = {}
        for written, name, value in self.writes:
            if written > revision:
                break
            if value is None:
                del state[name]
            else:
                state[name] = (written, value)
        return state

    @property
    def revision(self) -> int:
        return self.writes[-1][0] if self.writes else self.first

    @rule(name=NAMES, value=VALUES)
    def create(self, name: str, value: bytes) -> None:
        exists = name in self.state(self.revision)
        try:
            revision = self.runner.run(self.storage.create(self.place + name, value))
        except KeyExists as found:
            assert exists
            assert found.current.value == self.state(self.revision)[name][1]
        else:
            assert not exists
            assert revision == self.revision + 1
            self.writes.append((revision, name, value))

    @rule(name=NAMES, value=st.none() | VALUES, stale=st.booleans())
    def change(self, name: str, value: bytes | None, stale: bool) -> None:
        current = self.state(self.revision).get(name)
        expected = (current[0] if current else self.first) - stale
        key = self.place + name
        write = (
            self.storage.delete(key, expected=expected)
            if value is None
            else self.storage.update(key, value, expected=expected)
        )
        try:
            revision = self.runner.run(write)
        except RevisionConflict as found:
            assert stale or current is None
            actual = (found.current.revision, found.current.value) if found.current else None
            assert actual == current
        else:
            assert current is not None
            assert not stale
            assert revision == self.revision + 1
            self.writes.append((revision, name, value))

    @rule(back=st.integers(0, 8), limit=st.integers(0, 3), start=st.just("") | NAMES)
    def list_at(self, back: int, limit: int, start: str) -> None:
        revision = max(self.first, self.revision - back)
        listing = self.storage.list(
            self.place, start=self.place + start, limit=limit, revision=revision
        )
        if revision < self.compacted:
            with pytest.raises(Compacted):
                self.runner.run(listing)
            return
        page = self.runner.run(listing)
        wanted = [
            (self.place + name, value, written)
            for name, (written, value) in sorted(self.state(revision).items())
            if name >= start
        ]
        expected = wanted[:limit] if limit else wanted
        assert [(item.key, item.value, item.revision) for item in page.items] == expected
        assert (page.revision, page.remaining) == (revision, len(wanted) - len(expected))
        assert page.has_more == bool(page.remaining)

    @rule(back=st.integers(0, 8))
    def compact(self, back: int) -> None:
        revision = max(self.first, self.revision - back)
        self.runner.run(self.storage.compact(revision))
        self.compacted = max(self.compacted, revision)

    @invariant()
    def newest_state_agrees(self) -> None:
        page = self.runner.run(self.storage.list(self.place))
        state = {item.key.removeprefix(self.place): item for item in page.items}
        assert {n: (i.revision, i.value) for n, i in state.items()} == self.state(self.revision)
        assert self.runner.run(self.storage.count(self.place)) == len(state)

    async def check_watches(self) -> None:
        """From any revision still there, a watch tells the rest of the model's history."""
        oldest = max(self.first, self.compacted)
        for after in sorted({oldest, (oldest + self.revision) // 2, self.revision - 1}):
            if after < oldest:
                continue
            expected = [write for write in self.writes if write[0] > after]
            async with self.storage.watch(self.place, after=after) as watch:
                await self.check_watch(watch, expected)

    async def check_watch(
        self, watch: AsyncIterator[ChangeBatch], expected: list[tuple[int, str, bytes | None]]
    ) -> None:
        found: list[tuple[int, str, bytes | None]] = []
        async with asyncio.timeout(60):
            while len(found) < len(expected):
                for change in (await anext(watch)).changes:
                    name = change.key.removeprefix(self.place)
                    before = self.state(change.revision - 1).get(name)
                    old = (change.old.revision, change.old.value) if change.old else None
                    assert old == before
                    found.append((change.revision, name, change.new.value if change.new else None))
        assert found == expected


def test_a_store_agrees_with_the_list_of_all_writes(
    open_backend: OpenBackend, histories: settings
) -> None:
    class Machine(History):
        pass

    Machine.open_backend = staticmethod(open_backend)
    run_state_machine_as_test(Machine, settings=histories)


@pytest.fixture
def histories(request: pytest.FixtureRequest) -> settings:
    is_remote = "etcd" in request.node.name
    return settings(
        max_examples=15 if is_remote else 60,
        stateful_step_count=30,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
