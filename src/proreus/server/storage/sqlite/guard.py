"""Which writes the state of the disk allows, and how failures change that state.

Stands between ``store`` and ``writer``: every answer of the thread passes here, so that there is
one place that knows whether the database can be written to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, assert_never

from proreus.server.storage.health import (
    Broken,
    Full,
    Health,
    HealthRecord,
    Healthy,
    ReadOnly,
    Slow,
    Unreachable,
)
from proreus.server.storage.interface import (
    StorageBroken,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageReadOnly,
)
from proreus.server.storage.sqlite.database import Database
from proreus.server.storage.sqlite.writer import Writer

T = TypeVar("T")


class Guard:
    """See the module. ``health`` is the state of one database."""

    def __init__(self, writer: Writer, store: str) -> None:
        self._writer = writer
        self._store = store
        self._record = HealthRecord(store)

    @property
    def health(self) -> Health:
        return self._record.now

    @property
    def is_full(self) -> bool:
        return isinstance(self.health, Full)

    def refused(self, why: StorageError) -> None:
        """The thread could not write, or the disk has no room for more than deletions."""
        if (found := _consequence(why)) is not None:
            self._record.change(found)

    def slow(self, waited_s: float) -> None:
        """Writers wait for a commit; what else is wrong with a disk says more."""
        if isinstance(self.health, Healthy):
            why = f"writes wait for {self._store}: it has committed none for {waited_s:.0f} s"
            self._record.change(Slow(why))

    def quick(self) -> None:
        if isinstance(self.health, Slow):
            self._record.change(Healthy())

    async def check(self, *, is_deletion: bool) -> None:
        """Raises why a write is refused. A state whose cause is gone ends here."""
        match self.health:
            case Healthy() | Slow() | Unreachable():
                pass
            case Full() if is_deletion:
                pass
            case Full() | ReadOnly():
                await self.regain()
            case Broken(why):
                raise StorageBroken(why)
            case other:
                assert_never(other)

    async def regain(self) -> None:
        """End a full or read-only state, or raise why it lasts."""
        if isinstance(self.health, Full | ReadOnly):
            await self.do(Database.regain)
            self._record.change(Healthy())

    async def do(self, function: Callable[[Database], T]) -> T:
        """Have the thread do something; a disk that fails is noted."""
        try:
            return await self._writer.do(function)
        except StorageCorrupt:
            raise  # one page that cannot be read is no reason to refuse writes to others
        except StorageError as why:
            self.refused(why)
            raise

    def __repr__(self) -> str:
        return f"<Guard of {self._record!r}>"


def _consequence(why: StorageError) -> Health | None:
    """The state after a failure; None: it says nothing about the disk."""
    match why:
        case StorageFull():
            return Full(str(why))
        case StorageReadOnly():
            return ReadOnly(str(why))
        case StorageBroken() | StorageCorrupt():
            return Broken(str(why))
        case _:
            return None
