"""The state of a server set back to what it was, and with it the time of day of all."""

from __future__ import annotations

from collections.abc import Sequence

from proreus.server.checkpoints import Checkpoints
from proreus.server.storage.memory import StoreCheckpoint
from proreus.testing.explore.virtual_loop import LoopClock

_PAUSE_S = 0.001  # of virtual time: all that follows the server's objects has run


class Rewinding:
    """``mark`` a state once, ``rewind`` to it often: same objects, same revisions."""

    def __init__(self, checkpoints: Checkpoints, clocks: Sequence[LoopClock]) -> None:
        self._checkpoints = checkpoints
        self._clocks = clocks
        self._marked: StoreCheckpoint | None = None
        self._now_s = 0.0

    async def mark(self) -> None:
        await self._clocks[0].sleep(_PAUSE_S)
        self._marked = await self._checkpoints.checkpoint()
        self._now_s = self._clocks[0].now()

    async def rewind(self) -> None:
        assert self._marked is not None, "a state was marked"
        await self._checkpoints.restore(self._marked)
        for clock in self._clocks:
            clock.set_calendar(self._now_s)
        await self._clocks[0].sleep(_PAUSE_S)
