"""Large lists from an etcd that streams ranges (3.7), and from one that says it does and does not.

The first is a server of grpcio's with etcd's answers, since no such etcd can be installed; the
second is the real one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import grpc
import pytest

from proreus.aio.clock import SystemClock
from proreus.server.storage.etcd import EtcdConfig, EtcdStorage, messages
from proreus.server.storage.interface import Compacted, FutureRevision
from tests.real_etcd import running_etcd

PREFIX = "/registry/pods/"
KEYS = 1_700
REVISION = 5_000
WITHIN_S = 60


class Etcd(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    """Has keys, and answers reads alone."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.breaks_after: int | None = None  # pieces
        self.compacted = 0
        self._keys = [f"{PREFIX}{number:05}".encode() for number in range(KEYS)]

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        name = details.method.rpartition("/")[2]
        if name != "Status":
            self.asked.append(name)
        match name:
            case "Status":
                answer = messages.StatusResponse(version="3.7.1").SerializeToString()
                return grpc.unary_unary_rpc_method_handler(self._always(answer))
            case "Range":
                return grpc.unary_unary_rpc_method_handler(self._range)
            case "RangeStream":
                return grpc.unary_stream_rpc_method_handler(self._range_stream)
        return None

    def _always(self, answer: bytes) -> Any:
        async def answered(request: bytes, context: grpc.aio.ServicerContext) -> bytes:
            return answer

        return answered

    def _found(self, request: bytes) -> Any:
        asked = messages.RangeRequest.FromString(request)
        keys = [key for key in self._keys if asked.key <= key < asked.range_end]
        found = messages.RangeResponse(count=len(keys), more=0 < asked.limit < len(keys))
        found.header.revision = REVISION
        for key in keys[: asked.limit or None]:
            kv = found.kvs.add()
            kv.key, kv.value, kv.mod_revision = key, b"v" + key, 7
        return asked, found

    async def _refuse(self, asked: Any, context: grpc.aio.ServicerContext) -> None:
        if asked.revision and asked.revision < self.compacted:
            words = "etcdserver: mvcc: required revision has been compacted"
            await context.abort(grpc.StatusCode.OUT_OF_RANGE, words)
        if asked.revision > REVISION:
            words = "etcdserver: mvcc: required revision is a future revision"
            await context.abort(grpc.StatusCode.OUT_OF_RANGE, words)

    async def _range(self, request: bytes, context: grpc.aio.ServicerContext) -> bytes:
        asked, found = self._found(request)
        await self._refuse(asked, context)
        serialized: bytes = found.SerializeToString()
        return serialized

    async def _range_stream(
        self, request: bytes, context: grpc.aio.ServicerContext
    ) -> AsyncIterator[bytes]:
        """Pieces of ten keys and more; header, count and ``more`` come with the last one."""
        asked, found = self._found(request)
        await self._refuse(asked, context)
        at, size, number = 0, 10, 0
        while True:
            piece = messages.RangeStreamResponse()
            is_last = at + size >= len(found.kvs)
            if is_last:
                piece.range_response.MergeFrom(found)
                del piece.range_response.kvs[:]
            piece.range_response.kvs.extend(found.kvs[at : at + size])
            yield piece.SerializeToString()
            at, size, number = at + size, size * 2, number + 1
            if is_last:
                return
            if number == self.breaks_after:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "etcdserver: leader changed")


@pytest.fixture
async def etcd() -> Etcd:
    return Etcd()


@pytest.fixture
async def storage(etcd: Etcd) -> AsyncIterator[EtcdStorage]:
    server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
    server.add_generic_rpc_handlers((etcd,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with opened((f"http://127.0.0.1:{port}",)) as storage:
            etcd.asked.clear()
            yield storage
    finally:
        await server.stop(None)
        # Its own tasks end a moment later.
        left = {task for task in asyncio.all_tasks() if "_cython" in repr(task.get_coro())}
        if left:
            await asyncio.wait(left, timeout=WITHIN_S)


@asynccontextmanager
async def opened(endpoints: tuple[str, ...]) -> AsyncIterator[EtcdStorage]:
    config = EtcdConfig(endpoints, attempt_timeout_s=30, request_timeout_s=60)
    async with EtcdStorage.open(config, SystemClock()) as storage:
        yield storage


async def test_a_whole_list_is_one_stream(storage: EtcdStorage, etcd: Etcd) -> None:
    page = await storage.list(PREFIX)

    assert etcd.asked == ["RangeStream"]
    assert [item.key for item in page.items] == [f"{PREFIX}{number:05}" for number in range(KEYS)]
    assert page.items[3].value == b"v" + page.items[3].key.encode()
    assert (page.revision, page.has_more, page.remaining) == (REVISION, False, 0)


async def test_a_large_page_is_one_stream_and_a_small_one_a_call(
    storage: EtcdStorage, etcd: Etcd
) -> None:
    large = await storage.list(PREFIX, limit=1_000, revision=4_000)
    rest = await storage.list(PREFIX, start=f"{PREFIX}01000", limit=500, revision=4_000)

    assert etcd.asked == ["RangeStream", "Range"]
    assert (len(large.items), large.revision, large.remaining) == (1_000, 4_000, 700)
    assert (len(rest.items), rest.revision, rest.remaining) == (500, 4_000, 200)


async def test_a_stream_that_breaks_is_read_again_in_pages(
    storage: EtcdStorage, etcd: Etcd
) -> None:
    etcd.breaks_after = 2

    page = await storage.list(PREFIX)

    assert len({item.key for item in page.items}) == len(page.items) == KEYS
    assert etcd.asked[:2] == ["RangeStream", "Range"]


async def test_a_stream_of_a_state_that_is_gone_or_to_come_says_so(
    storage: EtcdStorage, etcd: Etcd
) -> None:
    etcd.compacted = 100

    with pytest.raises(Compacted):
        await storage.list(PREFIX, revision=99)
    with pytest.raises(FutureRevision):
        await storage.list(PREFIX, revision=REVISION + 1)


async def test_an_etcd_that_streams_no_ranges_is_read_in_pages() -> None:
    place = f"/registry/{uuid4().hex}/"
    async with running_etcd() as cluster, opened(tuple(cluster.endpoints)) as storage:
        await asyncio.gather(*(storage.create(f"{place}{n:04}", b"x") for n in range(1_100)))
        storage._streams_ranges = True  # as a member of a cluster that is being upgraded would

        page = await storage.list(place)

    assert [item.key for item in page.items] == [f"{place}{n:04}" for n in range(1_100)]
    assert not page.has_more
