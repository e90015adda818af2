"""Real failures of a disk under an open SQLite store, without a failing disk.

The descriptor of the write-ahead log is replaced by another file's: SQLite's next call on it fails
as it would on a bad disk.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


def log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def lose_syncs(path: Path) -> None:
    """Writes seem to succeed and are lost, fsync fails."""
    _replace(log_of(path), "/dev/null", os.O_RDWR)


def refuse_writes(path: Path) -> None:
    """Every write fails, nothing is changed."""
    _replace(log_of(path), str(log_of(path)), os.O_RDONLY)


def _replace(file: Path, by: str, mode: int) -> None:
    (descriptor,) = _descriptors(file)
    other = os.open(by, mode)
    os.dup2(other, descriptor, inheritable=False)
    os.close(other)


def _descriptors(file: Path) -> list[int]:
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            if link.readlink() == file:
                found.append(int(link.name))
    return found


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Memory as a disk, mounted at ``folder``."""
    folder.mkdir(mode=0o700)
    _mount("-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nothing below ``folder`` can be opened for writing."""
    _mount("--bind", str(folder), str(folder))
    try:
        _mount("-o", "remount,bind,ro", str(folder))
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _mount(*arguments: str) -> None:
    mounted = subprocess.run(["mount", *arguments], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no right to mount: {mounted.stderr.decode().strip()}")
