"""Files that containers can replace: opened, read, written and removed without trusting them.

A container may replace any file below the node's folder, or in a volume: by a FIFO, whose opening
waits for another process; by a device or a link; by a file of a terabyte. Everything here ends at
once and takes a bounded amount of memory, whatever it finds. Functions that depend on how much a
container left (``remove_tree``) belong in a thread.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path

_FLAGS = os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_RECORD_MODE = 0o600


def open_regular(path: Path, flags: int, mode: int = _RECORD_MODE) -> int:
    """A descriptor of a regular file. Raises ``OSError`` for everything else."""
    descriptor = os.open(path, flags | _FLAGS, mode)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return descriptor


def read_regular(path: Path, limit_bytes: int) -> bytes:
    """How a file begins. Raises ``OSError``."""
    descriptor = open_regular(path, os.O_RDONLY)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(limit_bytes)


def write_record(path: Path, content: bytes) -> None:
    """A small file, made anew in place of whatever is there. Raises ``OSError``."""
    path.unlink(missing_ok=True)
    with os.fdopen(open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        file.write(content)


def forget_record(path: Path) -> None:
    """Remove it if it is a file of any kind; a folder that took its place stays."""
    with contextlib.suppress(OSError):
        path.unlink()


def make_private(folder: Path) -> None:
    """A folder for its owner alone. Raises ``OSError``, also if a link has taken its place."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | _FLAGS)
    try:
        os.fchmod(descriptor, 0o700)
    finally:
        os.close(descriptor)


def remove_tree(top: Path) -> None:
    """Remove a folder and all below it, as far as that is possible; links are not followed.

    A folder's subfolders are moved up to ``top`` before it is removed. So it needs neither a stack
    nor a path as deep as the tree, which a container may have made deeper than either can be.
    """
    if top.is_symlink():
        forget_record(top)
        return
    token = secrets.token_hex(8)
    moved = 0
    pending = _clear(top)
    while pending:
        folder = pending.pop()
        for inner in _clear(folder):
            moved += 1
            place = top / f".{token}-{moved}"
            with contextlib.suppress(OSError):
                inner.rename(place)
                pending.append(place)
        with contextlib.suppress(OSError):
            folder.rmdir()
    with contextlib.suppress(OSError):
        top.rmdir()


def _clear(folder: Path) -> list[Path]:
    """Remove the files of ``folder``; its subfolders."""
    inner: list[Path] = []
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
        with os.scandir(folder) as entries:
            found = list(entries)
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                inner.append(Path(entry.path))
            else:
                forget_record(Path(entry.path))
    return inner
