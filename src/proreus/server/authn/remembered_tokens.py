"""What was found out about tokens, for a while: verifying a signature or asking a webhook is slow.

Tokens are known by a keyed digest, so that neither memory nor the time of a look-up reveals one.
Bounded: the oldest entry makes room for a new one.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from hashlib import blake2b
from typing import Generic, TypeVar

from proreus.aio.clock import Clock

SUCCESS_TTL_S = 10.0  # kube-apiserver remembers a good token for as long
_ENTRIES_MAX = 4096
T = TypeVar("T")


class RememberedTokens(Generic[T]):
    def __init__(self, clock: Clock, entries_max: int = _ENTRIES_MAX) -> None:
        self._clock = clock
        self._entries_max = entries_max
        self._secret = secrets.token_bytes(32)
        self._entries: dict[bytes, tuple[float, T]] = {}

    def key(self, token: str, audiences: Sequence[str] = ()) -> bytes:
        """By which a token, asked about for these audiences, is remembered."""
        digest = blake2b(token.encode("utf-8", "surrogatepass"), key=self._secret, digest_size=32)
        for audience in audiences:
            digest.update(b"\0")
            digest.update(audience.encode("utf-8", "surrogatepass"))
        return digest.digest()

    def get(self, key: bytes) -> T | None:
        found = self._entries.get(key)
        if found is None:
            return None
        until, value = found
        if self._clock.monotonic() < until:
            return value
        del self._entries[key]
        return None

    def put(self, key: bytes, value: T, ttl_s: float) -> None:
        if ttl_s <= 0:
            return
        self._entries.pop(key, None)
        if len(self._entries) >= self._entries_max:
            del self._entries[next(iter(self._entries))]
        self._entries[key] = (self._clock.monotonic() + ttl_s, value)

    def __len__(self) -> int:
        return len(self._entries)
