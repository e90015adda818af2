"""Storage in one SQLite file."""

from proreus.server.storage.sqlite.store import SqliteStorage

__all__ = ["SqliteStorage"]
