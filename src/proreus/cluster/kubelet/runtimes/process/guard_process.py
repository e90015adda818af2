"""Locks a kubelet's folder and runs the ``guard`` beside the kubelet."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from proreus.aio.clock import Clock
from proreus.cluster.kubelet.runtimes.process import guard
from proreus.cluster.kubelet.runtimes.process.marks import owner_of

_WAIT_S, _LOOK_S = 5.0, 0.05


class FolderInUse(Exception):
    """Another kubelet runs on the same folder."""


@contextlib.asynccontextmanager
async def guarded(folder: Path, clock: Clock) -> AsyncIterator[None]:
    """Raises ``FolderInUse``. An earlier kubelet's guard gets a moment to finish."""
    with _opened(folder) as lock:
        until = clock.monotonic() + _WAIT_S
        while not _is_locked(lock):
            if clock.monotonic() >= until:
                raise FolderInUse(f"another kubelet runs in {folder}")
            await clock.sleep(_LOOK_S)
        process = _start_guard(folder, lock)
        assert process.stdin is not None
        try:
            yield
        finally:
            process.stdin.close()
            await asyncio.shield(asyncio.to_thread(process.wait))


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """The folder itself is what is locked: a file in it could be replaced by a container."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _start_guard(folder: Path, lock: int) -> subprocess.Popen[bytes]:
    """A guard. It shares the lock, which is free once no process holds it, and has the other end
    of a pipe that breaks when this process ends."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, str(folder / "pods"), str(owner_of(folder))],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        pass_fds=(lock,),
        start_new_session=True,
    )


def _is_locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
