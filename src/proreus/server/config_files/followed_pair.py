"""A certificate with its key, in two files, that takes effect again when they change.

Read once a minute, as other files are (``followed_file``). Two files never change at once: a pair
that does not fit, or cannot be read, leaves the one in force, is logged once, and is tried again
when either file changes.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable

import structlog

from proreus.aio.clock import Clock
from proreus.net.private_files import NotPrivate
from proreus.net.tls.key_pairs import KeyPair, PairFiles, UnusableFiles
from proreus.server.offload import Runner

_CHECK_S = 60.0
_log = structlog.get_logger(__name__)


class FollowedPair:
    """``make`` is what a context is made by, of the files; ``use`` what it is given to. The pair
    that the files have now is in force. Raises NotPrivate, OSError."""

    def __init__(
        self,
        files: PairFiles,
        make: Callable[[], ssl.SSLContext],
        use: Callable[[ssl.SSLContext], None],
        clock: Clock,
    ) -> None:
        self._files = files
        self._make = make
        self._use = use
        self._clock = clock
        self._seen: KeyPair | str = files.read()

    async def run(self, lane: Runner) -> None:
        while True:
            await self._clock.sleep(_CHECK_S)
            await self.reload(lane)

    async def reload(self, lane: Runner) -> None:
        """Take over the pair that the files have now, if it is one."""
        before, self._seen = self._seen, await lane.run(self._read)
        if self._seen == before:
            return
        if isinstance(self._seen, str):
            self._log_failure(self._seen)
            return
        try:
            context = await lane.run(self._make)
        except (UnusableFiles, OSError) as error:
            self._log_failure(str(error))
            return
        self._use(context)
        _log.info("serving certificate reloaded", file=str(self._files.certificate))

    def _read(self) -> KeyPair | str:
        """Or why it cannot be read."""
        try:
            return self._files.read()
        except (OSError, NotPrivate) as error:
            return str(error)

    def _log_failure(self, why: str) -> None:
        _log.error("the serving certificate stays as it was", error=why)
