"""The log file of a data folder: JSON lines, at most two files of ten megabytes.

``up`` and ``server`` write it, ``logs`` reads it.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from proreus.api.json_types import Json
from proreus.lazy_dataclass import dataclass

_BYTES_MAX = 10 * 1024 * 1024
_KNOWN = ("timestamp", "level", "event", "exception", "logger")
LEVELS = ("debug", "info", "warning", "error", "critical")


def log_file(data_dir: Path) -> Path:
    return data_dir / "proreus.log"


def log_files(data_dir: Path) -> list[Path]:
    """Those that are there, the oldest first."""
    newest = log_file(data_dir)
    return [file for file in (newest.with_name(f"{newest.name}.1"), newest) if file.is_file()]


class LogFileHandler(logging.FileHandler):
    """Opened with the first line, so that who is refused the folder does not touch its log. A full
    disk loses lines and nothing else: whoever logs has work to do. The standard library's handler
    of the same kind loads what it needs for pickles and mail."""

    def __init__(self, data_dir: Path) -> None:
        """Raises OSError where the folder cannot be made."""
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        super().__init__(log_file(data_dir), encoding="utf-8", delay=True)

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        with suppress(OSError, ValueError):
            if self.stream is not None and self.stream.tell() >= _BYTES_MAX:
                self.stream.close()
                self.stream = None  # opened again for the next line
                Path(self.baseFilename).replace(f"{self.baseFilename}.1")

    def handleError(self, record: logging.LogRecord) -> None:  # logging's name
        pass


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One line of the file; ``fields`` is what it says beside its event."""

    time: str
    level: str
    event: str
    fields: tuple[tuple[str, object], ...] = ()
    traceback: str = ""

    @classmethod
    def read(cls, text: str) -> LoggedEvent | None:
        """None: not a line of ours; a crash may have cut it."""
        with suppress(ValueError):
            found: Json = json.loads(text)
            if isinstance(found, dict):
                return cls(
                    time=str(found.get("timestamp", "")),
                    level=str(found.get("level", "")),
                    event=str(found.get("event", "")),
                    fields=tuple((key, found[key]) for key in found if key not in _KNOWN),
                    traceback=str(found.get("exception", "")),
                )
        return None

    def rendered(self, *, with_traceback: bool) -> str:
        fields = "".join(f" {key}={value}" for key, value in self.fields)
        text = f"{self.time[:19].replace('T', ' ')} {self.level:<8} {self.event}{fields}"
        if not self.traceback:
            return text
        if with_traceback:
            return f"{text}\n{self.traceback}"
        return f"{text}: {self.traceback.rstrip().rpartition(chr(10))[2]}"


class LogReader:
    """Reads a folder's log from its beginning, and then what has come since. A file that is full is
    put aside and begun anew, which is seen by its inode."""

    def __init__(self, data_dir: Path) -> None:
        self._path = log_file(data_dir)
        self._waiting = log_files(data_dir)[:-1]
        self._file: BinaryIO | None = None

    def __enter__(self) -> LogReader:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._file is not None:
            self._file.close()

    def new_lines(self) -> list[str]:
        """Whole lines only: one that is being written is read the next time."""
        lines = [line for file in self._waiting for line in file.read_bytes().splitlines()]
        self._waiting = []
        while True:
            if self._file is None and self._path.is_file():
                self._file = self._path.open("rb")
            if self._file is None:
                break
            lines += _whole_lines(self._file)
            if self._path.is_file() and os.path.samestat(
                self._path.stat(), os.fstat(self._file.fileno())
            ):
                break
            self._file.close()
            self._file = None
        return [line.decode(errors="replace") for line in lines]


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    while True:
        before = file.tell()
        line = file.readline()
        if not line.endswith(b"\n"):
            file.seek(before)
            return
        yield line


def lines_from(texts: Iterable[str], level: str) -> Iterator[LoggedEvent]:
    """Those of at least this level."""
    wanted = LEVELS[LEVELS.index(level) :]
    for text in texts:
        line = LoggedEvent.read(text)
        if line is not None and line.level in wanted:
            yield line
