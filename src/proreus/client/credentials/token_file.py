"""A bearer token in a file that another program renews, as Kubernetes does for pods."""

from __future__ import annotations

import logging
from pathlib import Path

from proreus.aio.clock import Clock
from proreus.client.credentials.source import Credential, CredentialError

log = logging.getLogger(__name__)
REREAD_AFTER_S = 50.0


class TokenFile:
    """Read at first use and again when 50 s old; while it cannot be read the last token stays.

    ``fallback`` is a token to use as long as the file was never readable.
    """

    def __init__(self, path: Path, clock: Clock, *, fallback: str = "") -> None:
        self._path = path
        self._clock = clock
        self._credential = Credential(f"Bearer {fallback}") if fallback else None
        self._read_at = float("-inf")

    async def current(self) -> Credential:
        now = self._clock.monotonic()
        if now - self._read_at >= REREAD_AFTER_S:
            self._reread()
            self._read_at = now
        assert self._credential is not None, "the first reading succeeds or raises"
        return self._credential

    def refused(self, used: Credential) -> None:
        """A file is renewed by its owner's time, not by ours."""

    def _reread(self) -> None:
        try:
            token = self._path.read_text().strip()
            why = "is empty"
        except (OSError, UnicodeDecodeError) as problem:
            token, why = "", f"cannot be read: {problem}"
        if token:
            self._credential = Credential(f"Bearer {token}")
        elif self._credential is None:
            raise CredentialError(f"token file {self._path} {why}")
        else:
            log.warning("token file %s %s, keeping the last token", self._path, why)
