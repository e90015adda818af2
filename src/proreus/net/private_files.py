"""Files that hold secrets: tokens, keys, kubeconfigs. Only their owner writes and reads them.

The folder may be one that others can write to. A file they prepared must neither receive a secret
nor be taken for one of ours.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


class NotPrivate(OSError):
    """A file with a secret that others could have written."""


def write_private(path: Path, content: bytes) -> None:
    """Replace a file by one that only its owner may read, never leaving half of it.

    A symbolic link at ``path`` is replaced, not followed.
    """
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    descriptor = os.open(partial, _NEW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # after a power cut an empty key would be worse than none
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def read_private(path: Path) -> bytes:
    """Raises NotPrivate if the file is another user's or others may write it, and OSError."""
    with open(path, "rb", opener=_without_waiting) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise NotPrivate(f"{path} is not a regular file")
        if found.st_uid not in (0, os.geteuid()):
            raise NotPrivate(f"{path} belongs to another user; a secret in it is known to them")
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise NotPrivate(f"{path} can be written by other users; chmod 600 it, or remove it")
        return file.read()


def _without_waiting(path: str, flags: int) -> int:
    """A FIFO in the place of a file would hold up its reader until it is written to."""
    return os.open(path, flags | os.O_NONBLOCK)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
