"""The contract of storage runs unchanged on every implementation: a new one is done when it passes.

A test gets ``storage`` and ``place``, a prefix of its own: the stores may be shared, so tests
compare revisions with each other, never with numbers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from uuid import uuid4

import pytest

from proreus.server.storage.interface import Storage
from proreus.server.storage.memory import MemoryStorage
from proreus.testing.virtual_clock import VirtualClock


@dataclass(frozen=True, slots=True)
class Backend:
    """A store and the way to let its time pass."""

    storage: Storage
    let_pass: Callable[[float], Awaitable[None]]


OpenBackend = Callable[[], AbstractAsyncContextManager[Backend]]


@asynccontextmanager
async def memory_backend() -> AsyncIterator[Backend]:
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as storage:
        yield Backend(storage, clock.advance)


@pytest.fixture(params=["memory"])
def open_backend(request: pytest.FixtureRequest) -> OpenBackend:
    return memory_backend


@pytest.fixture
async def backend(open_backend: OpenBackend) -> AsyncIterator[Backend]:
    async with open_backend() as opened:
        yield opened


@pytest.fixture
def storage(backend: Backend) -> Storage:
    return backend.storage


@pytest.fixture
def place() -> str:
    return f"/registry/{uuid4().hex}/"
