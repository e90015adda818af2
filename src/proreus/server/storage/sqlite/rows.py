"""What passes between the event loop and the database: rows of the log, and what a file holds."""

from __future__ import annotations

from typing import NamedTuple

from proreus.lazy_dataclass import dataclass
from proreus.server.storage.revision_index import RevisionIndex
from proreus.server.storage.sqlite.files import OpenFiles
from proreus.server.storage.sqlite.high_water_mark import HighWaterMark


class Row(NamedTuple):
    """One write as it stands in the log; ``value`` None is a deletion."""

    revision: int
    key: str
    replaced: int
    expires: float | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Version:
    """A row of the log without its value."""

    revision: int
    key: str
    replaced: int
    is_deletion: bool


@dataclass(frozen=True, slots=True)
class FileContents:
    """What a file holds, values left on disk.

    ``mark`` (None: commits are not synced one by one) and ``files`` are for what acknowledges
    writes; it closes the mark. ``has_room``: more than deletions can be written.
    """

    index: RevisionIndex
    expiries: list[tuple[float, str, int]]
    revision: int
    compacted: int
    mark: HighWaterMark | None
    files: OpenFiles
    has_room: bool
