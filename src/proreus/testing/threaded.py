"""A test server on a thread of its own: for tests without an event loop, and for tests that each
have another one.

``SharedServer`` is for ``async`` tests, ``BlockingServer`` for plain ones. Both are one server with
the verbs of ``RunningServer``. What they run beside a test (``running``, cluster parts) is on the
server's thread, so that its clock, virtual or not, is theirs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, Unpack

from proreus.aio.clock import Clock, SystemClock
from proreus.blocking.client import Client as BlockingClient
from proreus.blocking.loop_thread import LoopThread
from proreus.client import Client, ClientConfig, Impersonation
from proreus.client.operator import Operator
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.testing.cluster import Controllers, cluster_parts
from proreus.testing.faults import FaultScope, FaultVerbs
from proreus.testing.granting import Grant, Rules
from proreus.testing.interception import Interception
from proreus.testing.loop_idle import LoopIdle, NeverIdle
from proreus.testing.manifests import Manifests
from proreus.testing.program import RunningProgram
from proreus.testing.quiet import HORIZON, TIMEOUT_S
from proreus.testing.requests import RecordedRequest, Requests
from proreus.testing.server import RunningServer, running_server
from proreus.testing.tcp_proxy import TcpProxy

_Result = TypeVar("_Result")


class _OnThread(FaultVerbs):
    """What both have: a server, and the thread that its loop runs on."""

    def __init__(self, server: RunningServer, thread: LoopThread) -> None:
        self._server = server
        self._thread = thread

    @property
    def inner(self) -> RunningServer:
        """The server itself, of which only its thread may call what is async."""
        return self._server

    @property
    def api(self) -> ApiServer:
        return self._server.api

    @property
    def interception(self) -> Interception:
        return self._server.interception

    @property
    def requests(self) -> Requests:
        """What it was asked: see ``requests``."""
        return self._server.requests

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def token(self) -> str:
        """The administrator's."""
        return self._server.token

    @property
    def clock(self) -> Clock:
        return self._server.clock

    @property
    def kubeconfig(self) -> Path | None:
        """The administrator's, of a server with TLS."""
        return self._server.kubeconfig

    def config(
        self, token: str = "", *, user_agent: str = "", through: TcpProxy | None = None
    ) -> ClientConfig:
        return self._server.config(token, user_agent=user_agent, through=through)

    def blocking_client(self, token: str = "", *, user_agent: str = "") -> BlockingClient:
        """The client without ``await``; close it by ``with``."""
        config = self.config(token, user_agent=user_agent)
        return BlockingClient(config, loop=self._thread, clock=self.clock)

    # Of the faults, what touches connections belongs to the server's thread.

    def expire_watches(self, resource: str = "*", **scope: Unpack[FaultScope]) -> int:
        return self._thread.run(lambda: self._server.expire_watches(resource, **scope))

    def end_watches(self, resource: str = "*", **scope: Unpack[FaultScope]) -> int:
        return self._thread.run(lambda: self._server.end_watches(resource, **scope))

    def release_watches(self, which: set[RecordedRequest] | None = None) -> None:
        self._thread.run(lambda: self._server.release_watches(which))

    def heal(self) -> None:
        self._thread.run(self._server.heal)


class BlockingServer(_OnThread):
    """For tests without an event loop: every verb returns when it is done."""

    def settle(
        self,
        horizon: float | str = HORIZON,
        *,
        timeout_s: float = TIMEOUT_S,
        quiet_for: float | str = 0.0,
    ) -> None:
        call = self._server.settle(horizon, timeout_s=timeout_s, quiet_for=quiet_for)
        self._thread.call(call)

    def advance(self, duration: float | str) -> None:
        self._thread.call(self._server.advance(duration))

    def load(self, manifests: Manifests) -> int:
        return self._thread.call(self._server.load(manifests))

    def restart(self) -> None:
        self._thread.call(self._server.restart())

    def stop(self) -> None:
        self._thread.call(self._server.stop())

    def kill(self) -> None:
        self._thread.call(self._server.kill())

    def start(self) -> None:
        self._thread.call(self._server.start())

    def grant(self, user: str, allow: Rules, *, role: str = "", namespace: str = "") -> None:
        self._thread.call(self._server.grant(user, Grant(allow, role, namespace)))

    def kubeconfig_as(
        self,
        path: Path,
        user: str,
        *,
        allow: Rules | None = None,
        role: str = "",
        namespace: str = "",
    ) -> Path:
        return self._thread.call(
            self._server.kubeconfig_as(path, user, allow=allow, role=role, namespace=namespace)
        )

    def fork(self) -> AbstractContextManager[RunningServer]:
        """What happens in the body of the ``with`` is undone at its end."""
        return self._thread.held(self._server.fork())

    @property
    def revision(self) -> int:
        """Of the last write."""
        return self._thread.call(self._server.api.parts.storage.current_revision())

    def keep(self, path: Path, *, since: int = 0, title: str = "") -> None:
        """The record of what happened after revision ``since``: see ``records``."""
        from proreus.testing.records import keep

        self._thread.call(keep(self._server, path, since=since, title=title))

    def running(self, operator: Operator) -> AbstractContextManager[Operator]:
        return self._thread.held(self._server.running(operator))

    def program(
        self, *command: str | Path, kubeconfig: Path | None = None, cwd: Path | None = None
    ) -> AbstractContextManager[RunningProgram]:
        return self._thread.held(self._server.program(*command, kubeconfig=kubeconfig, cwd=cwd))

    def cluster_parts(
        self, *, controllers: Controllers = True, scheduler: bool = True, nodes: int = 1
    ) -> AbstractContextManager[None]:
        parts = cluster_parts(
            self._server, controllers=controllers, scheduler=scheduler, nodes=nodes
        )
        return self._thread.held(parts)

    def shared(self) -> SharedServer:
        """The same server for tests with an event loop."""
        return SharedServer(self._server, self._thread)


class SharedServer(_OnThread):
    """For ``async`` tests, whichever loop they run on."""

    def client(
        self,
        token: str = "",
        *,
        user_agent: str = "",
        through: TcpProxy | None = None,
        **options: Any,
    ) -> Client:
        """A client on the test's own loop; close it by ``async with``."""
        return Client(self.config(token, user_agent=user_agent, through=through), **options)

    def proxy(self) -> AbstractAsyncContextManager[TcpProxy]:
        """A proxy in front of it that breaks connections on demand, on the test's own loop:
        ``async with``. Clients go through it by ``client(through=proxy)``."""
        return TcpProxy("127.0.0.1", self.api.parts.http.port)

    @asynccontextmanager
    async def client_as(
        self,
        user: str,
        *,
        allow: Rules | None = None,
        role: str = "",
        namespace: str = "",
        user_agent: str = "",
        **options: Any,
    ) -> AsyncIterator[Client]:
        """A client of a user who has these rights and no others."""
        await self._there(self._server.grant(user, Grant(allow or {}, role, namespace)))
        config = replace(self.config(user_agent=user_agent), impersonate=Impersonation(user))
        async with Client(config, **options) as client:
            yield client

    async def settle(
        self,
        horizon: float | str = HORIZON,
        *,
        timeout_s: float = TIMEOUT_S,
        quiet_for: float | str = 0.0,
    ) -> None:
        """Until neither the server's loop nor the test's has anything to do. Raises StillBusy."""
        while True:
            before = self.requests.newest
            await self._rest_here()
            call = self._server.settle(horizon, timeout_s=timeout_s, quiet_for=quiet_for)
            await self._there(call)
            await self._rest_here()
            if self.requests.newest == before:
                return

    async def advance(self, duration: float | str) -> None:
        await self._there(self._server.advance(duration))

    async def load(self, manifests: Manifests) -> int:
        return await self._there(self._server.load(manifests))

    async def restart(self) -> None:
        await self._there(self._server.restart())

    async def stop(self) -> None:
        await self._there(self._server.stop())

    async def kill(self) -> None:
        await self._there(self._server.kill())

    async def start(self) -> None:
        await self._there(self._server.start())

    @asynccontextmanager
    async def fork(self) -> AsyncIterator[None]:
        """What happens in the body is undone at its end."""
        with self._thread.held(self._server.fork()):
            yield

    @asynccontextmanager
    async def running(self, operator: Operator) -> AsyncIterator[Operator]:
        """An operator beside the body, on the server's thread and clock."""
        with self._thread.held(self._server.running(operator)) as bound:
            yield bound

    @asynccontextmanager
    async def program(
        self, *command: str | Path, kubeconfig: Path | None = None, cwd: Path | None = None
    ) -> AsyncIterator[RunningProgram]:
        started = self._server.program(*command, kubeconfig=kubeconfig, cwd=cwd)
        with self._thread.held(started) as running:
            yield running

    async def _there(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        return await asyncio.wrap_future(self._thread.submit(work))

    async def _rest_here(self) -> None:
        try:
            await LoopIdle.of(asyncio.get_running_loop()).wait()
        except NeverIdle:
            await asyncio.sleep(0)  # of a loop that cannot be looked at only requests are known


@contextmanager
def blocking_server(
    config: ServerConfig | None = None,
    clock: Callable[[], Clock] = SystemClock,
    *,
    in_memory: bool = False,
) -> Iterator[BlockingServer]:
    """A server on a thread of its own, for tests without an event loop (``unittest`` as well)."""
    thread = LoopThread("proreus test server")
    try:
        running = running_server(config, clock(), in_memory=in_memory, seldom_rounds=True)
        with thread.held(running) as server:
            yield BlockingServer(server, thread)
    finally:
        thread.close()
