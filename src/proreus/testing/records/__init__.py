"""A test's run in one file: what was stored, written and asked; and a server that serves it again.

``record`` is the file, ``keeping`` writes it, ``replaying`` serves it read-only at any point.
"""

from proreus.testing.records.keeping import keep
from proreus.testing.records.record import Record, RecordInvalid, WrittenValue, load
from proreus.testing.records.replaying import Replay, replaying

__all__ = ["Record", "RecordInvalid", "Replay", "WrittenValue", "keep", "load", "replaying"]
