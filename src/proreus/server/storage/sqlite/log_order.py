"""Whether the rows of a log follow from each other: asked at open, and whenever a log is copied.

Invariant of a log: each write names the write it replaced, and that one is there unless compaction
took it. A row that was lost, or one that was changed on disk, is found here.
"""

from __future__ import annotations

from proreus.server.storage.interface import StorageCorrupt
from proreus.server.storage.sqlite import checksums


class LogOrder:
    """Takes the rows of one log, in the order of their revisions."""

    def __init__(self, compacted: int, file: str) -> None:
        self._compacted = compacted
        self._file = file
        self._live: dict[str, int] = {}
        self._names: dict[str, str] = {}  # one string per key, however many rows it has

    def take(
        self,
        revision: int,
        key: str,
        replaced: int,
        expires: float | None,
        is_deletion: bool,
        checksum: int | None,
    ) -> str:
        """The key, one string for all of its rows. ``checksum`` None: format 1 had none.

        Raises StorageCorrupt.
        """
        key = self._names.setdefault(key, key)
        if checksum is not None and checksums.head_of(checksum) != checksums.of_head(
            revision, key, replaced, expires, is_deletion
        ):
            raise StorageCorrupt(
                f"{self._file} is damaged: the row of revision {revision} does not match its "
                f"checksum"
            )
        before = self._live.get(key, 0)
        is_gap = before != replaced and (before or revision > self._compacted)
        if is_gap or (is_deletion and not before):
            raise StorageCorrupt(f"{self._file} is damaged: rows before {revision} are missing")
        self._live[key] = 0 if is_deletion else revision
        return key

    def count(self, prefix: str) -> int:
        """How many keys under ``prefix`` have a value after all that was taken."""
        return sum(1 for key, live in self._live.items() if live and key.startswith(prefix))

    def live(self) -> frozenset[int]:
        """The revisions of the values that are there after all that was taken."""
        return frozenset(filter(None, self._live.values()))

    def __repr__(self) -> str:
        return f"<LogOrder of {self._file}: {len(self._live)} keys>"
