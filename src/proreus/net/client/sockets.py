"""A connected socket to a host: its addresses are tried one after the other, or side by side if one
takes long (RFC 8305), so that a host whose IPv6 leads nowhere is reached by IPv4."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from itertools import chain, zip_longest
from typing import Any

from proreus.net.client.connectors import open_socket

_NEXT_AFTER_S = 0.25

Forbid = Callable[[str, int], bool] | None
Address = tuple[Any, ...]  # as getaddrinfo gives it


async def addresses_of(host: str, port: int) -> list[Address]:
    """Those of both families in turns. Raises OSError."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except (OSError, UnicodeError):
            continue
        at = (host, port) if family == socket.AF_INET else (host, port, 0, 0)
        return [(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", at)]
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # of a name that is too long, or has an empty part
        raise OSError(f"{host!r} is no name of a host") from error
    first = [one for one in found if one[0] == found[0][0]]
    others = [one for one in found if one[0] != found[0][0]]
    return [one for one in chain(*zip_longest(first, others)) if one is not None]


async def connected_sockets(
    addresses: Sequence[Address], forbid: Forbid
) -> AsyncGenerator[socket.socket, None]:
    """The first that connects; another each time the caller asks again. Each is the caller's.
    Raises OSError once none is left: that of the last address."""
    left = deque(addresses)
    failure: OSError = OSError("the host has no address")
    while left:
        try:
            address, connected = await _first(left, forbid)
        except OSError as error:
            failure = error
            break
        left.remove(address)
        yield connected
    raise failure


async def _first(left: deque[Address], forbid: Forbid) -> tuple[Address, socket.socket]:
    """Takes those out of ``left`` that cannot be connected to. Raises OSError: none can."""
    if len(left) == 1:
        return left[0], await _connected(left[0], forbid)
    loop = asyncio.get_running_loop()
    waiting = deque(left)
    tried: dict[asyncio.Task[socket.socket], Address] = {}
    failure: OSError = OSError("the host has no address")
    try:
        while waiting or tried:
            if waiting:
                address = waiting.popleft()
                tried[loop.create_task(_connected(address, forbid))] = address
            done, _ = await asyncio.wait(
                tried,
                timeout=_NEXT_AFTER_S if waiting else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            for task in done:
                address = tried.pop(task)
                try:
                    return address, task.result()
                except OSError as error:
                    failure = error
                    left.remove(address)
    finally:
        for task in tried:
            task.cancel()
            task.add_done_callback(_discard)
    raise failure


def _discard(task: asyncio.Task[socket.socket]) -> None:
    if not task.cancelled() and task.exception() is None:
        task.result().close()


async def _connected(address: Address, forbid: Forbid) -> socket.socket:
    opened = open_socket(address, forbid)
    try:
        opened.setblocking(False)
        await asyncio.get_running_loop().sock_connect(opened, address[4])
    except BaseException:
        opened.close()
        raise
    return opened
