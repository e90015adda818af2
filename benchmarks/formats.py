"""What an answer costs in each format, plain and packed: CPU of the server's process, and bytes.

1,000 pods of about 3.7 kB, listed and as a watch that begins with them; then the same list after
all of them have changed, so that nothing of it has been encoded before, and changes that many
watches see. Formats take turns; of several rounds the cheapest counts.
"""

from __future__ import annotations

import asyncio
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.api_server import pod
from benchmarks.api_server._load import Connection, Target, body_of, thrown_away
from benchmarks.api_server._server import ServerProcess, running_server
from benchmarks.report import Row
from proreus.api.wire import json

PODS = 1_000
ROUNDS = 5
CHANGED_ROUNDS = 3
WATCHES, CHANGES = 50, 100
_PATH = "/api/v1/namespaces/default/pods"
_ONE = f"{_PATH}?limit=1"
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
_PLAIN = {name: asked for name, asked in _FORMATS.items() if "Accept-Encoding" not in asked}


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
    async with target.connections(1) as (writer,):
        rows += await _after_changes(server, target, writer)
        return rows + await _watched(server, target, writer)


async def _after_changes(server: ServerProcess, target: Target, writer: Connection) -> list[Row]:
    """Lists of which nothing was asked for before."""
    found: dict[str, list[float]] = {name: [] for name in _PLAIN}
    for number in range(CHANGED_ROUNDS):
        for name in _PLAIN:
            await _change(target, writer, PODS, f"{name}-{number}")
            found[name].append((await _answer(server, target, _PATH, name)).cpu_s)
    what = f"first LIST of {PODS:,} changed pods"
    return [Row(f"{what} in {name}, CPU", min(cpu_s) * 1e3, "ms") for name, cpu_s in found.items()]


async def _watched(server: ServerProcess, target: Target, writer: Connection) -> list[Row]:
    found: dict[str, list[float]] = {name: [] for name in _PLAIN}
    for number in range(CHANGED_ROUNDS):
        for name, headers in _PLAIN.items():
            listed = json.decode(body_of(await writer.ask(target.request("GET", _ONE))))
            after = listed["metadata"]["resourceVersion"]
            request = target.request("GET", f"{_PATH}?watch=1&resourceVersion={after}")
            accept = f"Accept: {headers['Accept']}".encode()
            request = request.replace(b"Accept: application/json", accept)
            async with target.connections(WATCHES) as watches:
                for one in watches:
                    await one.watch(request)
                async with thrown_away(watches):
                    before = server.exact_cpu_s()
                    await _change(target, writer, CHANGES, f"watched-{name}-{number}")
                    found[name].append((server.exact_cpu_s() - before) / CHANGES)
    what = f"change of a pod that {WATCHES} watches see"
    return [Row(f"{what} in {name}, CPU", min(cpu_s) * 1e3, "ms") for name, cpu_s in found.items()]


async def _change(target: Target, writer: Connection, pods: int, mark: str) -> None:
    body = json.encode({"metadata": {"annotations": {"changed": mark}}})
    for number in range(pods):
        path = f"{_PATH}/web-{number:05}"
        await writer.ask(target.request("PATCH", path, body, "application/merge-patch+json"))


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
