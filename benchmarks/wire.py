"""What the wire costs: HTTP/2 beside HTTP/1.1 at equal work, CPU of the server's process.

Of several rounds, taken in turns, the cheapest counts. One client: HTTP/1.1 has a connection for
each of its requests in flight and for each watch, HTTP/2 has one for all.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks._http2_load import Http2Load, connect
from benchmarks.api_server import pod
from benchmarks.api_server._load import Connection, Target
from benchmarks.api_server._server import ServerProcess, running_server
from benchmarks.report import Row

PODS = 200
LISTED = 10
ASKED = 1_000
IN_FLIGHT = 16
WATCHES = 100
ROUNDS = 5
_PODS_PATH = "/api/v1/namespaces/default/pods"

Work = Callable[[], Awaitable[int]]


def run() -> list[Row]:
    with (
        tempfile.TemporaryDirectory() as name,
        running_server(Path(name) / "data", Path(name) / "bytecode") as server,
    ):
        return asyncio.run(_Questions(server).all())


class _Questions:
    def __init__(self, server: ServerProcess) -> None:
        self._server = server
        self._target = Target(server.port, server.token)

    async def all(self) -> list[Row]:
        async with self._target.connections(IN_FLIGHT) as old:
            new = await connect(self._server.port, self._server.token)
            for number in range(PODS):
                await new.ask("POST", _PODS_PATH, pod(number))
            try:
                return await self._asked(old, new) + await self._watched(old[0], new)
            finally:
                new.transport.abort()

    async def _asked(self, old: list[Connection], new: Http2Load) -> list[Row]:
        rows = []
        for what, requests in {
            "GET of a pod, another each time": [
                ("GET", f"{_PODS_PATH}/web-{n % PODS:05}", b"") for n in range(ASKED)
            ],
            "GET of one pod": [("GET", f"{_PODS_PATH}/web-00001", b"")] * ASKED,
            "PUT of a pod": [
                ("PUT", f"{_PODS_PATH}/web-{n % PODS:05}", _changed(n % PODS, n))
                for n in range(ASKED // 2)
            ],
            "LIST of 200 pods (0.7 MB)": [("GET", f"{_PODS_PATH}", b"")] * 40,
        }.items():
            asked = list(requests)

            async def by_old(asked: list[tuple[str, str, bytes]] = asked) -> int:
                waiting = iter([self._request(*one) for one in asked])

                async def one(connection: Connection) -> None:
                    for request in waiting:
                        await connection.ask(request)

                await asyncio.gather(*map(one, old))
                return len(asked)

            async def by_new(asked: list[tuple[str, str, bytes]] = asked) -> int:
                waiting = iter(asked)

                async def one() -> None:
                    for request in waiting:
                        await new.ask(*request)

                await asyncio.gather(*(one() for _ in range(IN_FLIGHT)))
                return len(asked)

            rows += await self._compared(what, by_old, by_new)
        return rows

    async def _watched(self, writer: Connection, new: Http2Load) -> list[Row]:
        path = f"{_PODS_PATH}?watch=1&resourceVersion=0"
        updates = [
            self._request("PUT", f"{_PODS_PATH}/web-{n % 2:05}", _changed(n % 2, n))
            for n in range(1, 51)
        ]

        async def update(count: Callable[[], int]) -> int:
            before = count()
            for request in updates:
                await writer.ask(request)
            while count() < before + WATCHES * len(updates):  # noqa: ASYNC110 - no event to wait for
                await asyncio.sleep(0.01)
            return WATCHES * len(updates)

        async with self._target.connections(WATCHES) as watching:

            def old_lines() -> int:
                return sum(connection.lines for connection in watching)

            await asyncio.gather(*(w.watch(self._target.request("GET", path)) for w in watching))
            await _settled(old_lines)
            old = [await self._cpu_s(lambda: update(old_lines)) for _ in range(ROUNDS)]
        lone = await connect(self._server.port, self._server.token)
        await asyncio.gather(*(lone.watch(path) for _ in range(WATCHES)))
        await _settled(lambda: lone.lines)
        fresh = [await self._cpu_s(lambda: update(lambda: lone.lines)) for _ in range(ROUNDS)]
        lone.transport.abort()
        return _rows(f"event of 3.7 kB to one of {WATCHES} watches", min(old), min(fresh))

    async def _compared(self, what: str, old: Work, new: Work) -> list[Row]:
        olds, news = list[float](), list[float]()
        for _ in range(ROUNDS):
            olds.append(await self._cpu_s(old))
            news.append(await self._cpu_s(new))
        return _rows(what, min(olds), min(news))

    async def _cpu_s(self, work: Work) -> float:
        """Of the server, for each."""
        before = self._server.exact_cpu_s()
        count = await work()
        return (self._server.exact_cpu_s() - before) / count

    def _request(self, method: str, path: str, body: bytes) -> bytes:
        return self._target.request(method, path, body)


async def _settled(count: Callable[[], int]) -> None:
    """Until the first events, those that a watch begins with, have come."""
    seen = -1
    while seen != count():
        seen = count()
        await asyncio.sleep(0.3)


def _changed(number: int, value: int) -> bytes:
    return pod(number).replace(b'"sent":"0"', b'"sent":"%d"' % value)


def _rows(what: str, old_s: float, new_s: float) -> list[Row]:
    return [
        Row(f"{what}, HTTP/1.1, CPU", old_s * 1e6, "µs"),
        Row(f"{what}, HTTP/2, CPU", new_s * 1e6, "µs"),
        Row(f"{what}, HTTP/1.1 to HTTP/2", old_s / new_s, "x", 0.7, higher_is_better=True),
    ]
