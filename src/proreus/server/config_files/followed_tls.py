"""What TLS is made of, in files, that takes effect again when they change: certificates with their
keys, and the authorities of clients.

Read once a minute, as other files are (``followed_file``). Files never change at once: a key that
does not fit its certificate, or what cannot be read, leaves all as it was, is logged once, and is
tried again when one of them changes.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

import structlog

from proreus.aio.clock import Clock
from proreus.lazy_dataclass import dataclass
from proreus.net.tls.key_pairs import UnusableFiles
from proreus.server.offload import Runner

_CHECK_S = 60.0
_log = structlog.get_logger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Unreadable:
    why: str


class TlsFilesInvalid(Exception):
    """What the files have cannot be used; the message is one sentence."""


class FollowedTls(Generic[T]):
    """``read`` says what the files have, to be compared; ``make`` is what a context is made by, of
    what was read; ``use`` what it is given to. What the files have now is in force. Both raise
    OSError, TlsFilesInvalid, UnusableFiles."""

    def __init__(
        self,
        read: Callable[[], T],
        make: Callable[[T], ssl.SSLContext],
        use: Callable[[T, ssl.SSLContext], None],
        clock: Clock,
    ) -> None:
        self._read_files = read
        self._make = make
        self._use = use
        self._clock = clock
        self._seen: T | _Unreadable = read()

    async def run(self, lane: Runner) -> None:
        while True:
            await self._clock.sleep(_CHECK_S)
            await self.reload(lane)

    async def reload(self, lane: Runner) -> None:
        """Take over what the files have now, if it can be used."""
        before, found = self._seen, await lane.run(self._read)
        self._seen = found
        if found == before:
            return
        if isinstance(found, _Unreadable):
            self._log_failure(found.why)
            return
        try:
            context = await lane.run(partial(self._make, found))
        except (UnusableFiles, TlsFilesInvalid, OSError) as error:
            self._log_failure(str(error))
            return
        self._use(found, context)
        _log.info("serving certificate reloaded")

    def _read(self) -> T | _Unreadable:
        try:
            return self._read_files()
        except (OSError, TlsFilesInvalid) as error:
            return _Unreadable(str(error))

    def _log_failure(self, why: str) -> None:
        _log.error("the serving certificate stays as it was", error=why)
