"""etcd itself: what a client reaches that does nothing but call it.

Requests are made before the clock starts and answers are not decoded, so that what our storage
takes longer is our storage's. The transport is the same, ``net/grpc``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from benchmarks.report import CpuTimer
from proreus.aio.clock import SystemClock
from proreus.net.grpc.channel import Channel, GrpcTarget
from tests.real_etcd import running_etcd

_TXN, _WATCH = "/etcdserverpb.KV/Txn", "/etcdserverpb.Watch/Watch"
_TIMEOUT_S = 30.0
_EVENTS = 11  # the field of a WatchResponse
_MESSAGE = 2  # protobuf's wire type: a length, and as many bytes


async def creates_and_events(value: bytes, count: int, in_flight: int) -> tuple[CpuTimer, CpuTimer]:
    """``count`` create transactions by so many writers, then their events read by one watch."""
    async with running_etcd(fsync=True) as cluster:
        target = GrpcTarget("127.0.0.1", cluster.members[0].client_port)
        channel = Channel(target, SystemClock(), _TIMEOUT_S)
        try:
            writes = await _creates(channel, value, count, in_flight)
            return writes, await _replay(channel, count)
        finally:
            await channel.close()


async def _creates(channel: Channel, value: bytes, count: int, in_flight: int) -> CpuTimer:
    requests = [create_request(b"/bare/%d" % number, value) for number in range(count)]
    await channel.call(_TXN, create_request(b"/warm/up", value), ())
    waiting = iter(requests)

    async def write() -> None:
        for request in waiting:
            await channel.call(_TXN, request, ())

    with CpuTimer() as timer:
        await asyncio.gather(*(write() for _ in range(in_flight)))
    return timer


async def _replay(channel: Channel, count: int) -> CpuTimer:
    # From the first revision on: all there is under the prefix.
    created = _field(1, b"/bare/") + _field(2, b"/bare0") + bytes([3 << 3, 1])
    with CpuTimer() as timer:
        async with channel.stream(_WATCH, _field(1, created), ()) as stream:
            seen = 0
            while seen < count:
                for message in await stream.read():
                    seen += sum(number == _EVENTS for number in field_numbers(message))
    return timer


def create_request(key: bytes, value: bytes) -> bytes:
    """A TxnRequest: put, if the key's mod revision is 0."""
    compare = bytes([2 << 3, 2]) + _field(3, key) + bytes([6 << 3, 0])
    put = _field(1, key) + _field(2, value)
    return _field(1, compare) + _field(2, _field(2, put))


def field_numbers(message: bytes) -> Iterator[int]:
    """Those of a message's own fields, each as often as it is there."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        yield tag >> 3
        size, at = _varint(message, at)
        if tag & 7 == _MESSAGE:
            at += size


def _field(number: int, content: bytes) -> bytes:
    size, encoded = len(content), bytearray([number << 3 | _MESSAGE])
    while size > 0x7F:
        encoded.append(size & 0x7F | 0x80)
        size >>= 7
    encoded.append(size)
    return bytes(encoded) + content


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
