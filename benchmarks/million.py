"""One server on SQLite with a million objects: what its start, reads, writes and upkeep cost.

Takes minutes, 3 GB of memory and 2 GB of disk: run it by its name. ``PROREUS_BENCH_OBJECTS`` is
another size; what costs the same per object at a tenth of them does not grow with the store.
Objects are ConfigMaps of 1 kB, a thousand in each namespace. A pause is the longest that one
request of a quick kind waited while something else went on.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.api_server._load import Connection, Target, closed_loop
from benchmarks.api_server._server import ServerProcess, running_server
from benchmarks.report import Row
from proreus.server.opening import objects_file
from proreus.server.storage.backup.extent import Extent
from proreus.server.storage.backup.file import CopiedRow, NewLog
from proreus.server.storage.sqlite import checksums
from proreus.server.storage.sqlite.rows import Row as LogRow

OBJECTS = int(os.environ.get("PROREUS_BENCH_OBJECTS", "1000000"))
_IN_NAMESPACE = 1_000
_READERS = 8
_SECONDS = 2.0
_UPDATES = 20_000
_COMPACTION_S = 20
_TEXT = "x" * 700
_CONTINUE = re.compile(rb'"continue":"([^"]+)"')


def run() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="proreus-million-") as name:
        folder, bytecode = Path(name) / "data", Path(name) / "bytecode"
        with running_server(Path(name) / "unused", bytecode):
            pass  # compiles every module
        folder.mkdir(mode=0o700)
        write_store(objects_file(folder), OBJECTS)
        size_mb = objects_file(folder).stat().st_size / 1e6
        compacting = ("--etcd-compaction-interval", f"{_COMPACTION_S}s")
        with running_server(folder, bytecode, *compacting) as server:
            rows = [
                Row("objects", OBJECTS, ""),
                Row("database", size_mb, "MB"),
                Row("ready after a start", server.ready_s, "s"),
                Row("start, CPU per object", server.cpu_s() / OBJECTS * 1e6, "µs", 30),
            ]
            rows += asyncio.run(_Questions(server, folder).all())
            return rows


def write_store(path: Path, objects: int) -> None:
    """As a server that was stopped leaves it, without its own objects."""
    with NewLog(path, path) as log:
        for row in _rows(objects):
            log.add(CopiedRow(row, checksums.of_row(*row)))
        log.finish(Extent(objects + 1, 0))


def _rows(objects: int) -> Iterator[LogRow]:
    for number in range(objects):
        namespace, name = _place(number)
        value = (
            f'{{"metadata":{{"name":"{name}","namespace":"{namespace}",'
            f'"uid":"{number:08x}-0000-4000-8000-{number:012x}",'
            f'"creationTimestamp":"2026-01-01T00:00:00Z","labels":{{"slot":"{number % 100}"}}}},'
            f'"data":{{"text":"{_TEXT}"}}}}'
        )
        key = f"/registry/configmaps/{namespace}/{name}"
        yield LogRow(number + 2, key, 0, None, value.encode())


def _place(number: int) -> tuple[str, str]:
    return f"team-{number // _IN_NAMESPACE:04}", f"settings-{number:07}"


def _path(number: int) -> str:
    namespace, name = _place(number)
    return f"/api/v1/namespaces/{namespace}/configmaps/{name}"


class _Questions:
    def __init__(self, server: ServerProcess, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._target = Target(server.port, server.token)
        self._memory_mb = server.resident_mb()

    async def all(self) -> list[Row]:
        each = (self._memory_mb * 1e6 - 60e6) / OBJECTS
        rows = [
            Row("resident memory", self._memory_mb, "MB"),
            Row("memory per object of 1 kB", each, "B", 2_500),
        ]
        rows += await self._reads()
        rows += await self._pages()
        rows += await self._writes()
        rows += await self._upkeep()
        rows += await self._backup()
        rows.append(Row("resident memory at the end", self._server.resident_mb(), "MB"))
        return rows

    async def _reads(self) -> list[Row]:
        async def get(connection: Connection, number: int) -> None:
            await connection.ask(self._get(_path(number * 7_919 % OBJECTS)))

        async with self._target.connections(_READERS) as connections:
            cpu_s = self._server.cpu_s()
            count = await closed_loop(connections, _SECONDS, get)
            each_ms = (self._server.cpu_s() - cpu_s) / count * 1e3
        namespace = f"/api/v1/namespaces/{_place(0)[0]}/configmaps"
        return [
            Row("GET, CPU", each_ms, "ms", 0.2),
            Row("LIST of a namespace of 1,000, CPU", await self._cpu_ms(namespace, 50), "ms", 8),
            Row("first page of 500, CPU", await self._cpu_ms(_ALL + "?limit=500", 50), "ms", 5),
            Row("LIST of 1 % by label, CPU",
                await self._cpu_ms(_ALL + "?labelSelector=slot%3D7", 1), "ms"),
        ]  # fmt: skip

    async def _pages(self) -> list[Row]:
        """All objects, as kubectl gets them."""
        async with self._target.connections(1) as (connection,), self._probe() as longest_s:
            cpu_s, begun, pages, token = self._server.cpu_s(), time.monotonic(), 0, b""
            while pages == 0 or token:
                query = f"?limit=500&continue={token.decode()}" if token else "?limit=500"
                answer = await connection.ask(self._get(_ALL + query))
                found = _CONTINUE.search(answer, 0, 2_000) or _CONTINUE.search(answer)
                token, pages = found[1] if found else b"", pages + 1
            spent_s, took_s = self._server.cpu_s() - cpu_s, time.monotonic() - begun
            return [
                Row("all pages of 500, CPU per page", spent_s / pages * 1e3, "ms", 10),
                Row("all pages of 500", took_s, "s"),
                Row("pause meanwhile", longest_s() * 1e3, "ms", 200),
            ]

    async def _writes(self) -> list[Row]:
        async with self._target.connections(_READERS) as connections, self._watcher() as watcher:
            made = itertools.count()

            async def create(connection: Connection, _: int) -> None:
                name = f"new-{next(made):07}"
                body = f'{{"metadata":{{"name":"{name}"}},"data":{{"text":"{_TEXT}"}}}}'
                path = "/api/v1/namespaces/default/configmaps"
                await connection.ask(self._target.request("POST", path, body.encode()))

            cpu_s = self._server.cpu_s()
            count = await closed_loop(connections, _SECONDS, create)
            each_ms = (self._server.cpu_s() - cpu_s) / count * 1e3
            await _until(lambda: watcher.lines >= count)
        return [Row("create, one watch of all, CPU", each_ms, "ms", 0.6)]

    async def _upkeep(self) -> list[Row]:
        """Updates, and then the two rounds of compaction that drop what they replaced."""
        numbers = iter(range(_UPDATES))

        async def update(connection: Connection) -> None:
            for number in numbers:
                at = number * 7_919 % OBJECTS
                name = _place(at)[1]
                body = f'{{"metadata":{{"name":"{name}"}},"data":{{"text":"{number}{_TEXT}"}}}}'
                await connection.ask(self._target.request("PUT", _path(at), body.encode()))

        async with self._target.connections(_READERS) as connections:
            cpu_s = self._server.cpu_s()
            async with self._probe() as longest_s:
                await asyncio.gather(*map(update, connections))
            update_ms = (self._server.cpu_s() - cpu_s) / _UPDATES * 1e3
            updating_s = longest_s()
        async with self._probe() as longest_s:
            await asyncio.sleep(2 * _COMPACTION_S + 5)
        return [
            Row("update, CPU", update_ms, "ms", 0.7),
            Row("pause while updating", updating_s * 1e3, "ms", 200),
            Row("pause while 20,000 rows are compacted", longest_s() * 1e3, "ms", 200),
        ]

    async def _backup(self) -> list[Row]:
        command = [sys.executable, "-m", "proreus.cli.main", "backup"]
        command += [str(self._folder.parent / "backup"), "--data-dir", str(self._folder)]
        begun = time.monotonic()
        async with self._probe() as longest_s:
            done = await asyncio.to_thread(subprocess.run, command, capture_output=True)
        assert done.returncode == 0, done.stderr
        return [
            Row("backup while it runs, verified", time.monotonic() - begun, "s"),
            Row("pause meanwhile, of the server", longest_s() * 1e3, "ms", 200),
        ]

    @asynccontextmanager
    async def _watcher(self) -> AsyncIterator[Connection]:
        async with self._target.connections(1) as (connection,):
            await connection.watch(self._get(_ALL + "?watch=true&resourceVersion=0&limit=1"))
            await _until(lambda: connection.lines >= OBJECTS - 1)
            connection.forget()
            yield connection

    @asynccontextmanager
    async def _probe(self) -> AsyncIterator[Callable[[], float]]:
        """How long a small GET took at most, until now."""
        longest_s, is_over = 0.0, False

        async def ask(connection: Connection) -> None:
            nonlocal longest_s
            while not is_over:
                begun = time.monotonic()
                await connection.ask(self._get(_path(0)))
                longest_s = max(longest_s, time.monotonic() - begun)
                await asyncio.sleep(0.002)

        async with self._target.connections(1) as (connection,), asyncio.TaskGroup() as group:
            group.create_task(ask(connection))
            yield lambda: longest_s
            is_over = True

    async def _cpu_ms(self, path: str, count: int) -> float:
        async with self._target.connections(1) as (connection,):
            cpu_s = self._server.cpu_s()
            for _ in range(count):
                await connection.ask(self._get(path))
            return (self._server.cpu_s() - cpu_s) / count * 1e3

    def _get(self, path: str) -> bytes:
        return self._target.request("GET", path)


_ALL = "/api/v1/configmaps"


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(600):
        while not condition():  # noqa: ASYNC110  # counted by the protocol, which tells nobody
            await asyncio.sleep(0.01)
