"""One process per database: a locked file beside it.

SQLite would let two processes write in turn, but each would trust its own index in memory. The lock
is the kernel's and ends with the process, however it ends; the file stays and means nothing.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proreus.server.storage.interface import StorageLocked, Unavailable

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


# A file system without locks says something else; no holder of the file is known then.
_HELD = {errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK}


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold ``path`` locked. Raises StorageLocked, naming who holds it, or Unavailable."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError as failure:
        raise Unavailable(f"cannot open {path}: {failure.strerror}") from failure
    try:
        try:
            _lock(descriptor)
        except OSError as held:
            if held.errno not in _HELD:
                raise Unavailable(f"cannot lock {path}: {held.strerror}") from held
            owner = os.pread(descriptor, 20, 0).decode(errors="replace").strip() or "unknown"
            raise StorageLocked(f"{path.with_suffix('')} is in use by process {owner}") from held
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        yield
    finally:
        os.close(descriptor)
