"""Files that hold secrets: tokens, keys, kubeconfigs. Only their owner writes and reads them.

The folder may be one that others can write to. A file they prepared must neither receive a secret
nor be taken for one of ours.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


class NotPrivate(OSError):
    """A file with a secret that others could have written."""


def write_private(path: Path, content: bytes) -> None:
    """Replace a file by one that only its owner may read, never leaving half of it."""
    with replacing(path) as partial:
        partial.write_bytes(content)


def write_all_private(contents: Mapping[Path, bytes]) -> None:
    """The same for several files, in their order, whose folders wait for the disk once."""
    for path, content in contents.items():
        with _replacing(path) as partial:
            partial.write_bytes(content)
    for folder in {path.parent for path in contents}:
        _sync(folder)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """An empty file beside ``path`` that only its owner may read; at the end of the block it is on
    disk and takes the place of ``path``. If the block fails it is removed and nothing has changed.

    A symbolic link at ``path`` is replaced, not followed.
    """
    with _replacing(path) as partial:
        yield partial
    _sync(path.parent)


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Without waiting until the folder is on disk."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    os.close(os.open(partial, _NEW, 0o600))
    try:
        yield partial
        _sync(partial)  # after a power cut an empty key would be worse than none
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


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


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
