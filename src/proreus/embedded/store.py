"""A store of declared objects with watch, in your own program.

    @dataclass
    class Note:
        text: str
        author: str = ""

    async with Store("notes.db", kinds=[Note]) as store:
        notes = store.of(Note)
        await notes.create("first", Note("hello"))
        async for change in notes.watch():
            print(change.type, change.name, change.value)
            break  # or go on for ever

It is an API server's storage, watch cache and registry, asked without HTTP, with the guarantees of
``docs/guarantees.md``. ``asgi`` serves it to others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar

from proreus.aio.clock import Clock, SystemClock
from proreus.api.object import KubeObject
from proreus.api.wire.framing import DELETED
from proreus.client import Client, ClientConfig
from proreus.client.custom_resources import Stored, Typed, custom_resource, definition_of, is_custom
from proreus.client.resources.event_stream import EventStream
from proreus.client.retry_on_conflict import retry_on_conflict
from proreus.embedded.access import Authenticate, Authorize
from proreus.embedded.asgi import AsgiApplication
from proreus.embedded.engine import Engine
from proreus.net.client.in_process import InProcessHttp

T = TypeVar("T")
_GROUP, _VERSION = "app.local", "v1"
_HOST = "http://store.localhost"  # never asked for: requests do not leave the process


@dataclass(frozen=True, slots=True)
class ValueChange(Generic[T]):
    """``type``: ADDED, MODIFIED or DELETED. ``value`` is the state after it, and of a deletion the
    last one; None where only the identity of what is gone is known."""

    type: str
    name: str
    value: T | None


class ValueWatch(Generic[T]):
    """Iterate over it, once; as an async context manager it ends with the body.

    ``version``: everything up to it was handed out. It is empty until everything that was there at
    the beginning has been.
    """

    def __init__(self, events: EventStream[KubeObject], typed: Typed[T]) -> None:
        self._events = events
        self._typed = typed

    @property
    def version(self) -> str:
        return self._events.resource_version

    def __aiter__(self) -> ValueWatch[T]:
        return self

    async def __anext__(self) -> ValueChange[T]:
        event = await anext(self._events)
        is_bare = event.type == DELETED and event.is_synthetic
        value = None if is_bare else self._typed.of(event.object).value
        return ValueChange(event.type, event.object.name, value)

    async def __aenter__(self) -> ValueWatch[T]:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._events.aclose()


class Objects(Generic[T]):
    """The objects of one kind, as values of its class."""

    def __init__(self, client: Client, cls: type[T], namespace: str = "") -> None:
        self._typed = Typed(client, cls, namespace)
        self._clock = client.rest.clock

    async def create(self, name: str, value: T) -> Stored[T]:
        """Raises AlreadyExists, and Invalid for a value that its schema does not allow."""
        return await self._typed.create(name, value)

    async def get(self, name: str) -> Stored[T]:
        """Raises NotFound."""
        return await self._typed.get(name)

    async def list(self, *, label_selector: str = "") -> list[Stored[T]]:
        return await self._typed.list(label_selector=label_selector)

    async def update(self, stored: Stored[T], value: T) -> Stored[T]:
        """Put a value in place of the one that was read. Raises Conflict if it has changed."""
        return await self._typed.update(stored, value)

    async def modify(self, name: str, change: Callable[[T], T]) -> Stored[T]:
        """Read, change and write; again if another writer was faster."""

        async def attempt() -> Stored[T]:
            present = await self.get(name)
            return await self.update(present, change(present.value))

        return await retry_on_conflict(attempt, clock=self._clock)

    async def delete(self, name: str) -> None:
        """Raises NotFound."""
        await self._typed.delete(name)

    def watch(self, *, since: str = "", label_selector: str = "") -> ValueWatch[T]:
        """Every change, in order, for ever. Without ``since`` it begins with everything there is.

        ``since``: the ``version`` of an earlier watch, in this process or before a restart. One
        that the store has forgotten is no error: the watch begins with everything there is then.
        """
        events = self._typed.raw.events(since=since, label_selector=label_selector)
        return ValueWatch(events, self._typed)

    def __repr__(self) -> str:
        return f"<Objects of {self._typed!r}>"


class Store:
    """Use as an async context manager. One process at a time has the file.

    ``path``: an SQLite file, made if it is not there; None: in memory. ``kinds``: dataclasses, or
    classes of pydantic or msgspec; ``custom_resource`` gives one a group, a namespace, columns or
    rules. ``kubernetes``: names of Kubernetes' own kinds to serve too, such as ``configmaps``.
    """

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        kinds: Sequence[type[Any]],
        kubernetes: Sequence[str] = (),
        clock: Clock | None = None,
    ) -> None:
        """Raises SchemaError for a class that has no schema."""
        self._path = Path(path) if path is not None else None
        self._kinds = tuple(map(_as_kind, kinds))
        self._clock = clock or SystemClock()
        self._builtin = tuple(kubernetes)
        self._running = AsyncExitStack()
        self._client: Client | None = None
        self._engine: Engine | None = None

    async def __aenter__(self) -> Store:
        """Raises StorageError."""
        definitions = [definition_of(kind).manifest() for kind in self._kinds]
        engine = Engine(definitions, self._builtin, self._clock)
        async with AsyncExitStack() as starting:
            await starting.enter_async_context(engine.running(self._path))
            config = ClientConfig(
                _HOST,
                rate_limit=None,
                disk_cache=False,  # every store has this address
                transport=lambda route: InProcessHttp(engine.http, route.permit),
            )
            client = Client(config, clock=self._clock)
            self._client = await starting.enter_async_context(client)
            self._engine = engine
            self._running = starting.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client = self._engine = None
        if isinstance(error, asyncio.CancelledError):
            await self._running.__aexit__(kind, error, trace)
        else:
            # Given to the task groups inside, the body's own failure would come out wrapped.
            await self._running.aclose()

    @property
    def is_open(self) -> bool:
        return self._engine is not None

    @property
    def client(self) -> Client:
        """Every verb, informers and controllers, in this process."""
        if self._client is None:
            raise RuntimeError("the store is not open: use it as an async context manager")
        return self._client

    @property
    def engine(self) -> Engine:
        if self._engine is None:
            raise RuntimeError("the store is not open: use it as an async context manager")
        return self._engine

    def of(self, kind: type[T], namespace: str = "") -> Objects[T]:
        """The objects of a class. ``namespace``: of a kind that has one; "" is ``default``."""
        if kind not in self._kinds:
            raise ValueError(f"{kind.__name__} is none of the store's kinds")
        return Objects(self.client, kind, namespace)

    def asgi(
        self,
        *,
        authenticate: Authenticate,
        authorize: Authorize | None = None,
        allow_origins: Sequence[str] = (),
    ) -> AsgiApplication:
        """The store over HTTP, Server-Sent Events and WebSocket, for any ASGI server, or to be
        mounted into FastAPI or Starlette.

        ``authenticate`` says who asks; ``everyone`` lets in whoever comes. ``authorize`` says
        whether they may; None: they may do everything. ``allow_origins``: pages of other origins
        that may ask (CORS), ``*`` for any.
        """
        return AsgiApplication(self, authenticate, authorize, tuple(allow_origins))

    def __repr__(self) -> str:
        kinds = ", ".join(kind.__name__ for kind in self._kinds)
        return f"<Store of {kinds} {'in memory' if self._path is None else f'in {self._path}'}>"


def _as_kind(kind: type[T]) -> type[T]:
    """A class that says nothing of itself is a kind without namespaces."""
    if is_custom(kind):
        return kind
    plain = partial(custom_resource, group=_GROUP, version=_VERSION)
    return plain(namespaced=False, status=False)(kind)
