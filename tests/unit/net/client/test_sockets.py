"""Connecting to a host with several addresses: the first that can be reached is taken."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, aclosing, contextmanager

import pytest

from proreus.net.client.connectors import AddressForbidden
from proreus.net.client.sockets import Address, addresses_of, connected_sockets


def at(port: int) -> Address:
    return (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", port))


def port_of(listening: socket.socket) -> int:
    port: int = listening.getsockname()[1]
    return port


@contextmanager
def refusing() -> Iterator[Address]:
    """Bound and not listening, so that nobody else can."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield at(port_of(bound))


@contextmanager
def hanging() -> Iterator[Address]:
    """Its backlog is full, so that what else wants to connect is not answered."""
    with ExitStack() as opened:
        listening = opened.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(8):
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        yield at(port_of(listening))


@contextmanager
def listening() -> Iterator[Address]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield at(port_of(server))


async def peers(*addresses: Address) -> list[int]:
    """The ports that are connected to, one after the other, until none is left."""
    found: list[int] = []
    async with aclosing(connected_sockets(addresses, None)) as sockets:
        try:
            async for connected in sockets:
                with connected:
                    found.append(connected.getpeername()[1])
        except OSError:
            found.append(0)
    return found


async def test_an_address_that_refuses_is_passed_over() -> None:
    with refusing() as nobody, listening() as somebody:
        assert await peers(nobody, somebody) == [somebody[4][1], 0]


async def test_an_address_that_does_not_answer_holds_nobody_up() -> None:
    with hanging() as silent, listening() as somebody:
        async with aclosing(connected_sockets([silent, somebody], None)) as sockets:
            with await anext(sockets) as connected:
                assert connected.getpeername()[1] == somebody[4][1]


async def test_the_next_address_is_had_by_asking_again() -> None:
    with listening() as one, listening() as another, refusing() as nobody:
        assert await peers(one, another, nobody) == [one[4][1], another[4][1], 0]


async def test_no_address_is_left() -> None:
    with refusing() as nobody, refusing() as nobody_else:
        assert await peers(nobody, nobody_else) == [0]
    with pytest.raises(AddressForbidden):
        await anext(connected_sockets([nobody], lambda host, port: True))
    with pytest.raises(OSError, match="no address"):
        await anext(connected_sockets([], None))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_an_address_needs_no_resolving(host: str) -> None:
    ((family, *_, address),) = await addresses_of(host, 80)

    assert family == (socket.AF_INET6 if ":" in host else socket.AF_INET)
    assert address[:2] == (host, 80)


@pytest.mark.parametrize("host", ["a..b", "a" * 100])
async def test_a_name_that_cannot_be_one_is_an_error(host: str) -> None:
    with pytest.raises(OSError, match=r".+"):
        await addresses_of(host, 80)
