"""An API server in the test's own process: real, in memory, ready in milliseconds.

    async with running_server() as server, server.client() as client:
        await client.core_v1.configmaps("default").create({"metadata": {"name": "settings"}})
        async with server.client_as("ann", allow={"configmaps": ["get"]}) as ann:
            await ann.core_v1.configmaps("default").get("settings")

Each is its own world: several run side by side in one process and know nothing of each other.
Roles are enforced. ``client`` is the administrator's; ``client_as`` has the rights it is given and
no others, to see whether a program gets along with those it asks for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from proreus.aio.clock import Clock, SystemClock
from proreus.aio.tasks import background
from proreus.client import Client
from proreus.client.operator import Operator
from proreus.server.app import ApiServer
from proreus.server.checkpoints import Checkpoints
from proreus.server.config import ServerConfig
from proreus.server.storage.memory import MemoryStorage, StoreCheckpoint
from proreus.testing.clients import Clients
from proreus.testing.faults import FaultVerbs
from proreus.testing.interception import Interception
from proreus.testing.loop_idle import LoopIdle
from proreus.testing.manifests import Manifests, apply_manifests
from proreus.testing.quiet import HORIZON, TIMEOUT_S, none_in_flight, settle, settle_outside
from proreus.testing.requests import Requests
from proreus.testing.restartable_server import RestartableServer
from proreus.testing.tcp_proxy import TcpProxy
from proreus.testing.virtual_clock import SeldomRounds, VirtualClock


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a server at one time, for ``RunningServer.restore``."""

    stored: StoreCheckpoint
    now: float

    def __repr__(self) -> str:
        return f"<Checkpoint: {self.stored!r}>"


class RunningServer(Clients, FaultVerbs):
    """A server that runs. ``Clients``: how to reach it. ``FaultVerbs``: what may go wrong. Here:
    how to bring it back to an earlier state, and how to wait until nothing happens."""

    def __init__(
        self, restartable: RestartableServer, interception: Interception, clock: Clock
    ) -> None:
        self._restartable = restartable
        self._clock = clock
        self._interception = interception
        interception.expire = self._expire_soon
        super().__init__(restartable.api.token)

    @property
    def api(self) -> ApiServer:
        """The server itself; another one after a restart."""
        return self._restartable.api

    @property
    def clock(self) -> Clock:
        return self._clock

    @property
    def interception(self) -> Interception:
        return self._interception

    # What happens

    @property
    def requests(self) -> Requests:
        """What it was asked: see ``requests``."""
        return self.interception.requests

    async def load(self, manifests: Manifests) -> int:
        """Apply the manifests of a folder, a file, or several, or objects; how many there were.
        Kinds that they define are served afterwards."""
        async with self.client() as client:
            return await apply_manifests(client, manifests)

    @asynccontextmanager
    async def running(
        self, operator: Operator, *, client: Client | None = None
    ) -> AsyncIterator[Operator]:
        """An operator at work beside the body, on the server's clock. ``client``: whose rights it
        has, instead of the administrator's. The one that is given is not used up: each time it is
        a new one with the same reconcilers that runs. Its user agent is its name."""
        async with AsyncExitStack() as opened:
            if client is None:
                own = self.client(user_agent=operator.name)
                client = await opened.enter_async_context(own)
            bound = operator.bound_to(client, self.clock)
            async with background(bound):
                await self.settle()
                yield bound

    # State

    async def checkpoint(self) -> Checkpoint:
        """The present state, once all that was begun has come to an end. Costs no copy of an
        object. Raises ValueError if the storage is not in memory."""
        await self._rest_of_loop().wait()
        return Checkpoint(await self._checkpoints().checkpoint(), self.clock.now())

    async def restore(self, checkpoint: Checkpoint) -> None:
        """Exactly the state of the checkpoint: objects, revisions, uids, and on a virtual clock
        the time of day. Requests and watches under way are broken off. Costs what has changed."""
        await self._checkpoints().restore(checkpoint.stored)
        if isinstance(self.clock, VirtualClock):
            self.clock.set_calendar(checkpoint.now)
        # Parts of the server follow its objects in tasks of their own.
        await self._rest_of_loop().wait()

    @asynccontextmanager
    async def fork(self) -> AsyncIterator[RunningServer]:
        """What happens in the body happens to a copy: afterwards the state is what it was before,
        and no fault lasts. Forks nest; there is one at a time, since it is the same server."""
        before = await self.checkpoint()
        try:
            yield self
        finally:
            self.heal()
            await self.restore(before)

    # Quiet and time

    async def settle(
        self,
        horizon: float | str = HORIZON,
        *,
        timeout_s: float = TIMEOUT_S,
        quiet_for: float | str = 0.0,
    ) -> None:
        """Until nothing more happens before ``horizon``: see ``quiet``. ``quiet_for``: of programs
        in other processes only what they ask is seen; nothing must come from them for so long, in
        real time. Raises StillBusy."""
        self._rest_of_loop()
        await settle(
            self.clock, horizon=horizon, timeout_s=timeout_s, describe=self._describe_requests
        )
        if quiet_for:
            await settle_outside(self._signs_of_life, quiet_for, timeout_s, self._describe_requests)
        await none_in_flight(self._describe_requests)

    async def advance(self, duration: float | str) -> None:
        """Move the virtual clock on, for all who share it."""
        if not isinstance(self.clock, VirtualClock):
            raise ValueError("only a virtual clock can be moved: running_server(clock=…)")
        self._rest_of_loop()
        await self.clock.advance(duration)

    # Life and death

    async def stop(self) -> None:
        """In good order; ``start`` begins again with the same port and data."""
        await self._restartable.stop()

    async def kill(self) -> None:
        """At once: connections are reset, nothing is said good-bye to."""
        await self._restartable.kill()

    async def start(self) -> None:
        await self._restartable.start()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    def proxy(self) -> AbstractAsyncContextManager[TcpProxy]:
        """A proxy in front of it that breaks connections on demand: ``async with``. Clients go
        through it by ``client(through=proxy)`` and ``kubeconfig_as(…, through=proxy)``."""
        return TcpProxy("127.0.0.1", self.api.parts.http.port, clock=self.clock)

    # How it works

    def _checkpoints(self) -> Checkpoints:
        parts = self.api.parts
        return Checkpoints(parts.caches, parts.http, parts.instruments.memory)

    def _rest_of_loop(self) -> LoopIdle:
        idle = LoopIdle.of(asyncio.get_running_loop())
        idle.others.add(self._is_at_work)
        return idle

    def _is_at_work(self) -> bool:
        """Whether a thread of it is. What is asked of etcd may wait for the clock, and would wait
        for ever if the clock waited for it."""
        parts = self.api.parts
        offload = getattr(parts, "offload", None)  # not yet, of one that is being started
        is_storing = not parts.config.etcd and parts.storage_requests.is_busy()
        return is_storing or (offload is not None and offload.is_busy())

    def _signs_of_life(self) -> object:
        asked = self.requests
        return asked.newest, self.api.parts.caches.revision, tuple(map(str, asked.in_flight))

    def _describe_requests(self) -> list[str]:
        return [f"request {asked}" for asked in self.requests.in_flight]


@asynccontextmanager
async def running_server(
    config: ServerConfig | None = None,
    clock: Clock | None = None,
    *,
    in_memory: bool = False,
    seldom_rounds: bool = False,
) -> AsyncIterator[RunningServer]:
    """Without a configuration: in memory, plain HTTP, on a free loopback port.

    For kubectl and other programs it needs TLS: ``ServerConfig(data_dir=folder, tls=True,
    kubeconfig=folder / "kubeconfig")``. ``in_memory``: the folder is for keys alone.
    ``seldom_rounds``: hours of a virtual clock cost little, see ``virtual_clock.SeldomRounds``.
    """
    config, clock = config or ServerConfig(), clock or SystemClock()
    async with AsyncExitStack() as opened:
        memory = None
        if in_memory or (not config.etcd and config.data_dir is None):
            memory = await opened.enter_async_context(MemoryStorage.open(clock))
        interception = Interception(clock, memory)
        of_server: Clock = clock
        if seldom_rounds and isinstance(clock, VirtualClock):
            of_server = SeldomRounds(clock)
        restartable = RestartableServer(config, of_server, interception.instruments())
        await opened.enter_async_context(restartable.running())
        server = RunningServer(restartable, interception, clock)
        if isinstance(clock, VirtualClock):
            server._rest_of_loop()  # who moves the clock waits for the server's threads too
        yield server
