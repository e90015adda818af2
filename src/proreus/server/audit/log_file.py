"""A log file that is rotated: a full one is renamed with the time, and old ones are removed.

The names, and what the three limits mean, are those of kube-apiserver's ``--audit-log-*`` flags:
``audit.log`` becomes ``audit-2026-11-17T00-19-05.123.log``. Synchronous: for a thread.

Workers of one server write to one file. Whoever writes, or puts the file aside, holds its lock, and
who finds another file under the name opens that.
"""

from __future__ import annotations

import fcntl
import gzip
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from proreus.lazy_dataclass import dataclass
from proreus.server.audit.options import LogLimits

_DAY_S = 24 * 3600
_COMPRESSED = ".gz"
_COPIED_BYTES = 1024 * 1024
_TIME = "%Y-%m-%dT%H-%M-%S.%f"


@dataclass(frozen=True, slots=True)
class Loss:
    """So many lines are not in the log."""

    count: int
    why: str


class StandardOutput:
    def write(self, lines: Sequence[bytes]) -> Loss | None:
        try:
            sys.stdout.buffer.write(b"".join([line + b"\n" for line in lines]))
            sys.stdout.buffer.flush()
        except OSError as error:
            return Loss(len(lines), error.strerror or str(error))
        return None

    def close(self) -> None:
        pass


class LogFile:
    """Lines are appended whole. Raises OSError if the file cannot be opened."""

    def __init__(self, path: Path, limits: LogLimits, now: Callable[[], float]) -> None:
        self._path = path
        self._limits = limits
        self._now = now
        self._last_ms = 0  # the time in the name of the last file that was put aside
        self._is_torn = False  # the last write broke off inside a line
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._descriptor, self._size = _opened(path)
        self._remove_old()

    def write(self, lines: Sequence[bytes]) -> Loss | None:
        done = 0
        try:
            self._take()
            while done < len(lines):
                count = self._fitting(lines, done)
                if count:
                    self._append(lines[done : done + count])
                    done += count
                else:
                    self._rotate()
        except OSError as error:
            return Loss(len(lines) - done, error.strerror or str(error))
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        return None

    def close(self) -> None:
        os.close(self._descriptor)

    def _take(self) -> None:
        """Lock the file that has the name now, and see how large it is."""
        while True:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            found = os.fstat(self._descriptor)
            if self._path.exists() and os.path.samestat(self._path.stat(), found):
                self._size = found.st_size
                return
            opened, self._size = _opened(self._path)
            os.close(self._descriptor)  # and its lock
            self._descriptor, self._is_torn = opened, False

    def _fitting(self, lines: Sequence[bytes], start: int) -> int:
        """How many more lines the file may hold; a new one holds any line, however long."""
        size, count = self._size, 0
        for line in lines[start:]:
            size += len(line) + 1
            if size > self._limits.size_bytes and (count or self._size):
                break
            count += 1
        return count

    def _append(self, lines: Sequence[bytes]) -> None:
        data = memoryview(b"".join([line + b"\n" for line in lines]))
        if self._is_torn:
            data = memoryview(b"\n" + data)
        while data:
            count = os.write(self._descriptor, data)
            self._is_torn = count < len(data)
            self._size += count
            data = data[count:]

    def _rotate(self) -> None:
        self._path.rename(self._backup())
        self._take()
        self._remove_old()
        if self._limits.compress:
            self._compress_old()

    def _backup(self) -> Path:
        """A free name with the time; no two have the same, so that they sort as they were made."""
        self._last_ms = max(self._last_ms + 1, round(self._now() * 1000))
        while True:
            time = datetime.fromtimestamp(self._last_ms / 1000, UTC).strftime(_TIME)[:-3]
            name = self._path.with_name(f"{self._path.stem}-{time}{self._path.suffix}")
            if not name.exists() and not name.with_name(name.name + _COMPRESSED).exists():
                return name
            self._last_ms += 1

    def _remove_old(self) -> None:
        limits = self._limits
        backups = sorted(self._backups(), reverse=True)
        oldest_s = self._now() - limits.age_days * _DAY_S
        for number, (time_s, path) in enumerate(backups):
            is_too_many = limits.backups and number >= limits.backups
            if is_too_many or (limits.age_days and time_s < oldest_s):
                path.unlink(missing_ok=True)

    def _compress_old(self) -> None:
        """Under another name first: one that broke off is no backup, and is made again."""
        for _, path in self._backups():
            if path.suffix == _COMPRESSED:
                continue
            unfinished = path.with_name(f"{path.name}.tmp")
            descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with (
                os.fdopen(descriptor, "wb") as file,
                gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1) as packed,
                path.open("rb") as plain,
            ):
                shutil.copyfileobj(plain, packed, _COPIED_BYTES)
            unfinished.rename(path.with_name(path.name + _COMPRESSED))
            path.unlink()

    def _backups(self) -> list[tuple[float, Path]]:
        """Files that were put aside, with the time in their names."""
        found = []
        prefix, suffix = f"{self._path.stem}-", self._path.suffix
        for path in self._path.parent.iterdir():
            name = path.name.removesuffix(_COMPRESSED)
            if name.startswith(prefix) and name.endswith(suffix):
                text = name[len(prefix) : len(name) - len(suffix)]
                try:
                    time = datetime.strptime(text, _TIME).replace(tzinfo=UTC)
                except ValueError:
                    continue  # another file's
                found.append((time.timestamp(), path))
        return found


def _opened(path: Path) -> tuple[int, int]:
    """Descriptor and size. Only the owner may read it: bodies may hold secrets."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    return descriptor, os.fstat(descriptor).st_size
