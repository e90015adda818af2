"""Rows of the log as Changes, for watches."""

from __future__ import annotations

from proreus.server.storage.interface import Change, StoredValue
from proreus.server.storage.sqlite.pending import PendingWrite
from proreus.server.storage.sqlite.rows import Row


def committed_change(write: PendingWrite, values: dict[int, bytes]) -> Change:
    row = write.row
    if row.replaced and write.old is not None:
        values = {row.replaced: write.old}
    return change_of(row, values)


def change_of(row: Row, values: dict[int, bytes]) -> Change:
    old = StoredValue(row.key, values[row.replaced], row.replaced) if row.replaced else None
    new = StoredValue(row.key, row.value, row.revision) if row.value is not None else None
    return Change(row.revision, row.key, old, new)
