"""A reserve of disk space, released on a full disk so that deletions still work.

A deletion is a row too, and freeing pages needs room in the write-ahead log. Without a reserve a
full disk would have no way out but a larger disk.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path

_SIZE_MAX = 2 << 20
_SIZE_MIN = 64 << 10
_SHARE_OF_DISK = 16
_LOW = 512 << 20


class Ballast:
    """A file that only takes up space. Blocking; owned by the database's thread."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def make(self) -> bool:
        """Take the reserve if as much again stays free; False: the disk is as good as full."""
        try:
            size = self.size()
            if self._is_there(size):
                return True
            if shutil.disk_usage(self._path.parent).free < 2 * size:
                return False
            self._write(size)
        except OSError:
            self.release()
            return False
        return True

    def hold(self) -> None:
        """At the end of a process: keep what is free, so that the next one can be started."""
        with suppress(OSError):
            size = min(self.size(), shutil.disk_usage(self._path.parent).free)
            if not self._is_there(size):
                self._write(size)

    def release(self) -> None:
        with suppress(OSError):
            self._path.unlink()

    def is_space_low(self) -> bool:
        """Whether others may fill the disk within moments; always so on a small one."""
        return shutil.disk_usage(self._path.parent).free < _LOW

    def size(self) -> int:
        share = shutil.disk_usage(self._path.parent).total // _SHARE_OF_DISK
        return max(_SIZE_MIN, min(_SIZE_MAX, share))

    def _is_there(self, size: int) -> bool:
        try:
            return self._path.stat().st_size >= size
        except FileNotFoundError:
            return False

    def _write(self, size: int) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            if sys.platform == "linux":
                os.posix_fallocate(descriptor, 0, size)
            elif os.write(descriptor, bytes(size)) < size:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(descriptor)

    def __repr__(self) -> str:
        return f"<Ballast {self._path}>"
