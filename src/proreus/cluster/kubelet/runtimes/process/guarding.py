"""A kubelet's folder is its own, and a guard stands by it (``guard``)."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO

from proreus.aio.clock import Clock
from proreus.cluster.kubelet.runtimes.process import guard

_WAIT_S, _LOOK_S = 5.0, 0.05


class FolderInUse(Exception):
    """Another kubelet runs on the same folder."""


@contextlib.asynccontextmanager
async def guarded(folder: Path, clock: Clock) -> AsyncIterator[None]:
    """Raises ``FolderInUse``. An earlier kubelet's guard gets a moment to finish."""
    with (folder / "lock").open("w") as lock:
        until = clock.monotonic() + _WAIT_S
        while not _is_locked(lock):
            if clock.monotonic() >= until:
                raise FolderInUse(f"another kubelet runs in {folder}")
            await clock.sleep(_LOOK_S)
        standing = _stand(folder, lock)
        assert standing.stdin is not None
        try:
            yield
        finally:
            standing.stdin.close()
            await asyncio.shield(asyncio.to_thread(standing.wait))


def _stand(folder: Path, lock: IO[str]) -> subprocess.Popen[bytes]:
    """A guard. It shares the lock, which is free once nobody holds it, and has the other end of a
    pipe that breaks when this process ends."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, str(folder / "pods")],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        pass_fds=(lock.fileno(),),
        start_new_session=True,
    )


def _is_locked(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
