"""Holds a test's server, so that any task can stop it, kill it and start it again.

The parts of a server must be ended by the task that began them; a fixture is entered and left by
others. So one task does both, on demand. While the server is down its port is kept: who connects
is refused, and nobody else gets it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from proreus.aio.clock import Clock
from proreus.aio.gate import Gate
from proreus.aio.tasks import beside
from proreus.net.bound_socket import bound_socket
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.server.credentials import ADMIN_USER
from proreus.server.http.instruments import Instruments


class RestartableServer:
    """``api`` is the server that runs, or ran last."""

    def __init__(self, config: ServerConfig, clock: Clock, instruments: Instruments) -> None:
        self._config = config
        self._clock = clock
        self._instruments = instruments
        self._wanted = Gate(is_open=True)
        self._unwanted = Gate()
        self._up = Gate()
        self._down = Gate(is_open=True)
        self._is_killed = self._is_over = False
        self._ended = Gate()
        self.api = ApiServer(config, clock, instruments)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Up when the body begins. What makes the server fail comes out as it is, at the latest
        when the body ends."""
        async with beside(self._run(), name="test server", ended=self._note_end) as task:
            await self._up.wait_open()
            if task.done():
                await task
            try:
                yield
            finally:
                self._is_over = True
                self._unwanted.open()
                if not self._ended.is_open:
                    await self._down.wait_open()
            if task.done():
                await task

    async def stop(self) -> None:
        """In good order, as at SIGTERM."""
        self._unwanted.open()
        await self._down.wait_open()

    async def kill(self) -> None:
        """At once, as at SIGKILL: connections are reset, and the server withdraws nothing."""
        self._is_killed = True
        await self.stop()

    async def start(self) -> None:
        """On the same port, with the same data."""
        self._wanted.open()
        await self._up.wait_open()

    def _note_end(self) -> None:
        self._ended.open()
        self._up.open()
        self._down.open()

    async def _run(self) -> None:
        while True:
            await self._wanted.wait_open()
            await self._run_once()
            if self._is_over:
                return
            token, port = self.api.token, self.api.parts.http.port
            tokens = {**self._config.tokens, token: ADMIN_USER}
            self._config = replace(self._config, port=port, tokens=tokens)
            await self._wait_wanted(port)

    async def _run_once(self) -> None:
        memory = self._instruments.memory
        async with self.api:
            self._unwanted.shut()
            self._down.shut()
            self._up.open()
            await self._unwanted.wait_open()
            self._up.shut()
            self._wanted.shut()
            left = memory.checkpoint() if memory is not None and self._is_killed else None
            if self._is_killed:
                await self._drop_all()
        if left is not None and memory is not None:
            memory.set_back(left)
        self._is_killed = False

    async def _drop_all(self) -> None:
        http = self.api.parts.http
        http.stop_listening()
        for connection in list(http.connections):
            connection.require_transport().abort()
        await asyncio.sleep(0)  # their protocols are told

    async def _wait_wanted(self, port: int) -> None:
        held = bound_socket(self._config.bind_address, port)
        try:
            self._down.open()
            await self._wanted.wait_open()
        finally:
            held.close()
        self.api = ApiServer(self._config, self._clock, self._instruments)
