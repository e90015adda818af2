"""Ports for servers that must be found again where they were, or must not be found any more.

One that the kernel chose is of the range that outgoing connections are served from too: as soon as
nobody listens it may be anybody's. Those outside of it are taken by who asks for them alone, and a
lock per port keeps other test processes away.
"""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


@contextmanager
def reserved_ports(count: int = 1) -> Iterator[list[int]]:
    """Ports of the loopback that nobody else has while the body runs."""
    candidates = _candidates()
    random.SystemRandom().shuffle(candidates)
    with ExitStack() as locks:
        found: list[int] = []
        while len(found) < count:
            if _is_locked(port := candidates.pop(), locks) and _is_free(port):
                found.append(port)
        yield found


@contextmanager
def reserved_port() -> Iterator[int]:
    with reserved_ports() as (port,):
        yield port


@contextmanager
def dead_port() -> Iterator[int]:
    """A port of the loopback where who connects is refused: it is bound, and nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def _candidates() -> list[int]:
    low, high = map(int, _RANGE.read_text().split()) if _RANGE.exists() else (32768, 65535)
    beside = [port for port in range(10_000, 65_536) if not low <= port <= high]
    return beside or list(range(10_000, 65_536))


def _is_locked(port: int, locks: ExitStack) -> bool:
    folder = Path(tempfile.gettempdir()) / f"proreus-test-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    descriptor = os.open(folder / str(port), os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    locks.callback(os.close, descriptor)
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
