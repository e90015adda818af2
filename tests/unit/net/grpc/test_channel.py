"""Channels to real servers: grpcio's, and sockets that break off, stay silent or talk nonsense."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import grpc
import pytest

from proreus.aio.clock import Clock, SystemClock
from proreus.net.grpc.channel import Channel, GrpcTarget
from proreus.net.grpc.failures import Code, RpcFailed
from proreus.net.http2 import frames
from proreus.testing.virtual_clock import VirtualClock

WITHIN_S = 60
TIMEOUT_S = 30.0


class Service(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    """Echoes; ``/wait`` answers when it is told to, ``/fail`` with what it is asked for."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.metadata: dict[str, str] = {}

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        self.metadata = dict(details.invocation_metadata)
        match details.method:
            case "/echo":
                return grpc.unary_unary_rpc_method_handler(self._echo)
            case "/wait":
                return grpc.unary_unary_rpc_method_handler(self._wait)
            case "/fail":
                return grpc.unary_unary_rpc_method_handler(self._fail)
            case "/stream":
                return grpc.stream_stream_rpc_method_handler(self._stream)
        return None

    async def _echo(self, request: bytes, context: grpc.aio.ServicerContext) -> bytes:
        return request

    async def _wait(self, request: bytes, context: grpc.aio.ServicerContext) -> bytes:
        self.asked.set()
        await self.may_answer.wait()
        return request

    async def _fail(self, request: bytes, context: grpc.aio.ServicerContext) -> bytes:
        await context.abort(grpc.StatusCode.PERMISSION_DENIED, request.decode())
        raise AssertionError("abort raises")

    async def _stream(
        self, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext
    ) -> AsyncIterator[bytes]:
        async for request in requests:
            if request == b"end":
                return
            yield request
            yield request


@asynccontextmanager
async def opened(
    port: int, clock: Clock | None = None, timeout_s: float = TIMEOUT_S
) -> AsyncIterator[Channel]:
    channel = Channel(GrpcTarget("127.0.0.1", port), clock or SystemClock(), timeout_s)
    try:
        async with asyncio.timeout(WITHIN_S):
            yield channel
    finally:
        await channel.close()


@asynccontextmanager
async def grpcio_server(service: Service) -> AsyncIterator[tuple[grpc.aio.Server, int]]:
    options = (("grpc.max_receive_message_length", -1), ("grpc.so_reuseport", 0))
    server = grpc.aio.server(options=options)
    server.add_generic_rpc_handlers((service,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield server, port
    finally:
        service.may_answer.set()
        await server.stop(None)
        # Its own tasks end a moment later.
        left = {task for task in asyncio.all_tasks() if "_cython" in repr(task.get_coro())}
        if left:
            await asyncio.wait(left, timeout=WITHIN_S)


@pytest.fixture
async def service() -> Service:
    return Service()


@pytest.fixture
async def channel(service: Service) -> AsyncIterator[Channel]:
    async with grpcio_server(service) as (_, port), opened(port) as made:
        yield made


@pytest.mark.parametrize("size", [0, 1, 70_000, 5_000_000])
async def test_calls_are_answered_whatever_their_size(channel: Channel, size: int) -> None:
    assert await channel.call("/echo", bytes(size), ()) == bytes(size)


async def test_many_calls_are_answered_at_the_same_time(channel: Channel) -> None:
    sent = [b"%d" % number * 1_000 for number in range(200)]

    assert await asyncio.gather(*(channel.call("/echo", each, ()) for each in sent)) == sent


async def test_a_call_says_who_asks_and_how_long(channel: Channel, service: Service) -> None:
    token = "x" * 400
    await channel.call("/echo", b"x", (("hasleader", "true"), ("token", token)))

    assert (service.metadata["hasleader"], service.metadata["token"]) == ("true", token)


async def test_a_refused_call_says_why(channel: Channel) -> None:
    with pytest.raises(RpcFailed) as raised:
        await channel.call("/fail", "nicht für dich: 100 %".encode(), ())
    with pytest.raises(RpcFailed) as unknown:
        await channel.call("/nothing", b"", ())

    assert raised.value.code == Code.PERMISSION_DENIED
    assert raised.value.details == "nicht für dich: 100 %"
    assert unknown.value.code == Code.UNIMPLEMENTED


async def test_streams_go_both_ways(channel: Channel) -> None:
    async with channel.stream("/stream", b"a", ()) as stream:
        got = await stream.read()
        stream.send(bytes(1_000_000))
        while len(got) < 4:
            got += await stream.read()
        stream.send(b"end")

        assert got == [b"a", b"a", bytes(1_000_000), bytes(1_000_000)]
        assert await stream.read() == []
    assert await channel.call("/echo", b"x", ()) == b"x"


async def test_a_reader_of_a_stream_may_be_cancelled_and_read_again(channel: Channel) -> None:
    async with channel.stream("/stream", b"a", ()) as stream:
        got = await stream.read()
        while len(got) < 2:
            got += await stream.read()
        waiting = asyncio.ensure_future(stream.read())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        stream.send(b"b")

        assert (await stream.read())[0] == b"b"


async def test_a_cancelled_call_leaves_the_connection_to_others(
    channel: Channel, service: Service
) -> None:
    waiting = asyncio.ensure_future(channel.call("/wait", b"x", ()))
    await service.asked.wait()
    waiting.cancel()
    await asyncio.wait([waiting])

    assert waiting.cancelled()
    assert await channel.call("/echo", b"x", ()) == b"x"


async def test_a_call_that_is_not_answered_in_time_fails_and_others_are_answered(
    service: Service,
) -> None:
    clock = VirtualClock()
    async with grpcio_server(service) as (_, port), opened(port, clock, 2) as channel:
        waiting = asyncio.ensure_future(channel.call("/wait", b"x", ()))
        await service.asked.wait()
        await clock.advance(1.5)
        assert not waiting.done()
        await clock.advance(1)

        with pytest.raises(RpcFailed, match="no answer in 2 s") as raised:
            await waiting
        assert (raised.value.code, raised.value.is_unsent) == (Code.DEADLINE_EXCEEDED, False)
        assert await channel.call("/echo", b"x", ()) == b"x"


async def test_a_server_that_leaves_answers_what_it_took_and_gets_no_more(service: Service) -> None:
    async with grpcio_server(service) as (server, port), opened(port) as channel:
        waiting = asyncio.ensure_future(channel.call("/wait", b"x", ()))
        await service.asked.wait()
        stopping = asyncio.ensure_future(server.stop(WITHIN_S))
        is_unsent = False
        while not is_unsent:  # until its farewell is here
            try:
                await channel.call("/echo", b"x", ())
            except RpcFailed as failure:
                is_unsent = failure.is_unsent
        service.may_answer.set()

        assert await waiting == b"x"
        await stopping


async def test_closing_fails_what_is_under_way(service: Service) -> None:
    async with grpcio_server(service) as (_, port), opened(port) as channel:
        waiting = asyncio.ensure_future(channel.call("/wait", b"x", ()))
        await service.asked.wait()
        await channel.close()

        with pytest.raises(RpcFailed, match="closed"):
            await waiting
        with pytest.raises(RpcFailed, match="closed"):
            await channel.call("/echo", b"x", ())


Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def socket_server(behaviour: Behaviour) -> AsyncIterator[int]:
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await behaviour(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Take the client's head and its settings, and say ours."""
    await reader.readexactly(len(frames.PREFACE))
    writer.write(frames.settings())


async def test_a_connection_that_breaks_fails_its_calls_which_may_have_been_done() -> None:
    async def behaviour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await greet(reader, writer)
        await reader.readuntil(b"question")
        writer.transport.abort()

    async with socket_server(behaviour) as port, opened(port) as channel:
        for _ in range(2):  # a new connection each time
            with pytest.raises(RpcFailed, match="lost") as raised:
                await channel.call("/echo", b"question", ())
            assert (raised.value.code, raised.value.is_unsent) == (Code.UNAVAILABLE, False)


async def test_nobody_there_means_that_nothing_was_sent() -> None:
    async def nobody(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with socket_server(nobody) as port, opened(port) as channel:
        with pytest.raises(RpcFailed, match="failed to connect") as closed:
            await channel.call("/echo", b"x", ())
    async with opened(port) as channel:
        with pytest.raises(RpcFailed, match="failed to connect") as refused:
            await channel.call("/echo", b"x", ())

    assert closed.value.is_unsent and refused.value.is_unsent


async def test_a_frozen_server_was_sent_nothing() -> None:
    """Its kernel accepts connections for it."""
    clock, connected = VirtualClock(), asyncio.Event()

    async def frozen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set()

    async with socket_server(frozen) as port, opened(port, clock) as channel:
        waiting = [asyncio.ensure_future(channel.call("/echo", b"x", ())) for _ in range(3)]
        await connected.wait()
        await clock.advance(TIMEOUT_S + 1)
        failures = await asyncio.gather(*waiting, return_exceptions=True)

    for failure in failures:
        assert isinstance(failure, RpcFailed)
        assert (str(failure), failure.is_unsent) == (
            "UNAVAILABLE: failed to connect: no answer in time",
            True,
        )


@pytest.mark.parametrize(
    "words", [b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", bytes(range(256)) * 100]
)
async def test_who_speaks_something_else_is_not_called(words: bytes) -> None:
    async def behaviour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(words)

    async with socket_server(behaviour) as port, opened(port) as channel:
        with pytest.raises(RpcFailed, match="failed to connect") as raised:
            await channel.call("/echo", b"x", ())

    assert raised.value.is_unsent


async def test_a_server_that_vanished_is_found_by_a_ping() -> None:
    clock, pinged = VirtualClock(), asyncio.Event()

    async def vanishing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await greet(reader, writer)
        await reader.readuntil(frames.frame_head(frames.PING, 0, 0, 8))
        pinged.set()

    async with (
        socket_server(vanishing) as port,
        opened(port, clock) as channel,
        channel.stream("/stream", b"x", ()) as stream,
    ):
        await clock.advance(5)
        await clock.advance(5)
        await pinged.wait()
        await clock.advance(5)

        with pytest.raises(RpcFailed, match="does not answer a ping"):
            await stream.read()


async def test_a_stream_on_a_frozen_server_ends_soon_after_a_call_to_it_was_late() -> None:
    clock, pinged = VirtualClock(), asyncio.Event()

    async def freezing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await greet(reader, writer)
        await reader.readuntil(frames.frame_head(frames.PING, 0, 0, 8))
        pinged.set()

    async with (
        socket_server(freezing) as port,
        opened(port, clock, 2) as channel,
        channel.stream("/stream", b"x", ()) as stream,
    ):
        await clock.advance(1)
        waiting = asyncio.ensure_future(channel.call("/echo", b"x", ()))
        await asyncio.sleep(0)
        await clock.advance(2)
        with pytest.raises(RpcFailed, match="no answer in 2 s"):
            await waiting
        await pinged.wait()
        await clock.advance(2)

        with pytest.raises(RpcFailed, match="does not answer a ping"):
            await stream.read()


async def test_a_quiet_stream_lives_on_while_pings_are_answered(service: Service) -> None:
    clock = VirtualClock()
    async with (
        grpcio_server(service) as (_, port),
        opened(port, clock) as channel,
        channel.stream("/stream", b"a", ()) as stream,
    ):
        got = await stream.read()
        while len(got) < 2:
            got += await stream.read()
        for _ in range(2):
            await clock.advance(5)
            await clock.advance(5)
            await channel.call("/echo", b"x", ())  # behind the ping, so it was answered too
        stream.send(b"b")

        assert (await stream.read())[0] == b"b"
