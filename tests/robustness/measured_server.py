"""A server in a process of its own that measures how long anything holds its event loop.

A timer on the loop ticks every few milliseconds and notes how much CPU time the process has used
since its last tick, but no more than the loop's thread was not waiting for a processor: that is how
long the loop was held, by a callback or by a thread that kept the interpreter, on a machine that
does nothing else. What other processes do does not count, nor what our threads do while the loop's
own is kept from running by them.

Run as a program it serves, filled with objects, until its input ends. A line of input is a number
of seconds for which to hold the loop, nearly always none. It is answered by a line: the longest
hold since the line before in seconds, and how much memory the process has in bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from proreus.api.wire import splice
from proreus.cli.tuning import collect_seldom, keep_small_buffers
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig

OBJECTS = 20_000
_TICK_S = 0.005
_READY_S = 120.0


class HoldMeter:
    """Started on a running loop; ``longest`` since it was last taken."""

    def __init__(self) -> None:
        self._longest = 0.0
        self._last = Usage.now()

    def start(self) -> None:
        self._last = Usage.now()
        asyncio.get_running_loop().call_later(_TICK_S, self._tick)

    def _tick(self) -> None:
        self._longest = max(self._longest, Usage.now().held_since(self._last))
        self.start()

    def take(self) -> float:
        """What is going on now counts too."""
        found = max(self._longest, Usage.now().held_since(self._last))
        self._longest = 0.0
        return found


@dataclass(frozen=True, slots=True)
class Usage:
    """``process_s`` is CPU time of all threads; ``able_s`` passes while this thread need not wait
    for a processor."""

    process_s: float
    able_s: float

    @classmethod
    def now(cls) -> Usage:
        waited_ns = int(Path("/proc/thread-self/schedstat").read_text().split()[1])
        return cls(time.process_time(), time.monotonic() - waited_ns / 1e9)

    def held_since(self, before: Usage) -> float:
        return min(self.process_s - before.process_s, self.able_s - before.able_s)


@dataclass(frozen=True, slots=True)
class Measurement:
    """``held_s``: the longest time for which the loop was held."""

    held_s: float
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Measured:
    """How to reach the server, and its meter."""

    url: str
    token: str
    _process: asyncio.subprocess.Process

    async def take(self) -> Measurement:
        """What was measured since the last call."""
        return await self._ask(0.0)

    async def hold(self, seconds: float) -> None:
        """Keep the loop busy: what the meter must see."""
        await self._ask(seconds)

    async def _ask(self, hold_s: float) -> Measurement:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{hold_s}\n".encode())
        held_s, memory_bytes = json.loads(await self._process.stdout.readline())
        return Measurement(held_s, memory_bytes)


@asynccontextmanager
async def measured_server() -> AsyncIterator[Measured]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        __name__,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        async with asyncio.timeout(_READY_S):
            url, token = json.loads(await process.stdout.readline())
        yield Measured(url, token, process)
    finally:
        process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(60):
                await process.wait()
        if process.returncode is None:
            process.kill()
            await process.wait()


def pod(number: int) -> bytes:
    """As it is stored."""
    name = f"pod-{number:05}"
    containers = [{"name": "a", "image": "registry/a:1", "env": [{"name": "N", "value": name}]}]
    return splice.stored_from_object(
        {
            "metadata": {
                "name": name,
                "namespace": f"ns-{number % 4}",
                "labels": {"app": f"app-{number % 100}", "n": str(number)},
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "uid": f"00000000-0000-0000-0000-{number:012}",
            },
            "spec": {"containers": containers, "nodeName": f"node-{number % 50}"},
            "status": {"phase": "Running", "podIP": "10.0.0.1"},
        }
    )


async def _fill(server: ApiServer) -> None:
    caches = server.parts.caches
    storage = caches._shared.storage
    revision = 0
    for number in range(OBJECTS):
        key = f"/registry/pods/ns-{number % 4}/pod-{number:05}"
        revision = await storage.create(key, pod(number))
        if number % 500 == 0:
            await caches.wait_for(revision)
    await caches.wait_for(revision)


async def _serve() -> None:
    collect_seldom()
    keep_small_buffers()
    loop, lines = asyncio.get_running_loop(), asyncio.StreamReader()
    answers, sys.stdout = sys.stdout, sys.stderr  # logs are no answers
    async with ApiServer(ServerConfig()) as server:
        await _fill(server)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        meter = HoldMeter()
        meter.start()
        print(json.dumps([server.url, server.token]), file=answers, flush=True)
        meter.take()
        while line := await lines.readline():
            print(json.dumps([meter.take(), _memory_bytes()]), file=answers, flush=True)
            until_s = time.process_time() + float(line)
            while time.process_time() < until_s:
                pass


def _memory_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    asyncio.run(_serve())
