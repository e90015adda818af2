"""Whose file a database is, and whether this version reads it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from proreus.server.storage.interface import StorageCorrupt
from proreus.server.storage.sqlite import statements


def check_format(path: Path, number: Callable[[str], int]) -> int:
    """The file's format; ``number`` asks it by a PRAGMA. Raises StorageCorrupt."""
    owner = number("PRAGMA application_id")
    if owner != statements.APPLICATION_ID:
        raise StorageCorrupt(f"{path} belongs to another program (application id {owner})")
    version = number("PRAGMA user_version")
    if version > statements.FORMAT:
        raise StorageCorrupt(
            f"{path} was written by a newer version (format {version}, "
            f"this one reads up to {statements.FORMAT})"
        )
    return version
