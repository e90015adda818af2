"""An order, from an owner to its process, and the process that ends with its owner."""

from __future__ import annotations

import asyncio
import pickle
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

T = TypeVar("T")
_SIZE_BYTES = 4


def encoded_order(order: object) -> bytes:
    body = pickle.dumps(order)
    return len(body).to_bytes(_SIZE_BYTES) + body


def receive_order(owner: socket.socket, kind: type[T]) -> T:
    """Waits for it. Only an owner can have written it: nobody else has the other end. Raises
    EOFError."""
    order = pickle.loads(_received(owner, int.from_bytes(_received(owner, _SIZE_BYTES))))
    assert isinstance(order, kind)
    return order


def _received(owner: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        piece = owner.recv(size - len(found))
        if not piece:
            raise EOFError("the owner is gone")
        found += piece
    return found


@contextmanager
def ended_with(owner: socket.socket, asked: asyncio.Event) -> Iterator[None]:
    """While it lasts, ``asked`` is set when the owner is gone."""
    loop, line = asyncio.get_running_loop(), owner.fileno()

    def look() -> None:
        with suppress(BlockingIOError):
            if not _is_there(owner):
                loop.remove_reader(line)
                asked.set()

    owner.setblocking(False)
    loop.add_reader(line, look)
    try:
        yield
    finally:
        loop.remove_reader(line)


def _is_there(owner: socket.socket) -> bool:
    try:
        return bool(owner.recv(1))
    except ConnectionError:
        return False
