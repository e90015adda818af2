"""What an answer costs in each format, plain and packed: CPU of the server's process, and bytes.

1,000 pods of about 3.7 kB, listed and as a watch that begins with them. Formats take turns; of
several rounds the cheapest counts.
"""

from __future__ import annotations

import asyncio
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.api_server import pod
from benchmarks.api_server._load import Target
from benchmarks.api_server._server import ServerProcess, running_server
from benchmarks.report import Row

PODS = 1_000
ROUNDS = 5
_PATH = "/api/v1/namespaces/default/pods"
_WATCH_LIST = (
    f"{_PATH}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
    "&resourceVersionMatch=NotOlderThan"
)
_LISTED = b"k8s.io/initial-events-end"  # in every format: the list is over
_FORMATS = {
    "JSON": {"Accept": "application/json"},
    "JSON, gzip": {"Accept": "application/json", "Accept-Encoding": "gzip"},
    "CBOR": {"Accept": "application/cbor"},
    "CBOR, gzip": {"Accept": "application/cbor", "Accept-Encoding": "gzip"},
    "protobuf": {"Accept": "application/vnd.kubernetes.protobuf"},
}


@dataclass(frozen=True, slots=True)
class _Answer:
    cpu_s: float
    size: int


def run() -> list[Row]:
    with (
        tempfile.TemporaryDirectory() as name,
        running_server(Path(name) / "data", Path(name) / "bytecode") as server,
    ):
        return asyncio.run(_asked(server))


async def _asked(server: ServerProcess) -> list[Row]:
    target, rows = Target(server.port, server.token), list[Row]()
    async with target.connections(1) as (connection,):
        for number in range(PODS):
            await connection.ask(target.request("POST", _PATH, pod(number)))
    for what, path in {
        f"LIST of {PODS:,} pods": _PATH,
        f"watch that begins with {PODS:,} pods": _WATCH_LIST,
        "GET of a pod": f"{_PATH}/web-00001",
    }.items():
        rounds = [
            {name: await _answer(server, target, path, name) for name in _FORMATS}
            for _ in range(ROUNDS)
        ]
        for name in _FORMATS:
            cpu_s = min(one[name].cpu_s for one in rounds)
            rows.append(Row(f"{what} in {name}, CPU", cpu_s * 1e3, "ms"))
            rows.append(Row(f"{what} in {name}", rounds[0][name].size / 1e3, "kB"))
    return rows


async def _answer(server: ServerProcess, target: Target, path: str, name: str) -> _Answer:
    """On a connection of its own, which is there before."""
    headers = {"Authorization": f"Bearer {server.token}", "Accept-Encoding": "identity"}
    address = f"https://127.0.0.1:{server.port}"
    async with httpx.AsyncClient(base_url=address, verify=target.tls, headers=headers) as client:
        (await client.get("/livez/ping")).raise_for_status()
        before = server.exact_cpu_s()
        async with client.stream("GET", path, headers=_FORMATS[name], timeout=60) as answer:
            answer.raise_for_status()
            is_packed = answer.headers.get("Content-Encoding") == "gzip"
            size, text = 0, _Text(is_packed=is_packed)
            async for piece in answer.aiter_raw():
                size += len(piece)
                if path == _WATCH_LIST and text.has_listed(piece):
                    break
        return _Answer(server.exact_cpu_s() - before, size)


class _Text:
    """What came of a watch, unpacked: every burst of it is a gzip member of its own."""

    def __init__(self, *, is_packed: bool) -> None:
        self._member = zlib.decompressobj(31) if is_packed else None
        self._tail = b""

    def has_listed(self, piece: bytes) -> bool:
        text = self._tail + self._unpacked(piece)
        self._tail = text[-len(_LISTED) :]
        return _LISTED in text

    def _unpacked(self, piece: bytes) -> bytes:
        if self._member is None:
            return piece
        text = b""
        while piece:
            text += self._member.decompress(piece)
            piece = self._member.unused_data
            if self._member.eof:
                self._member = zlib.decompressobj(31)
        return text
