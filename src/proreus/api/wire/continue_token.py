"""The place where the next page of a list starts, as clients carry it (server.md §2.7).

base64url without padding of ``{"v":"meta.k8s.io/v1","rv":N,"start":"key\\u0000"}``. A revision of
-1 means "from here on, in the newest state". The token is opaque to clients but not secret.
"""

from __future__ import annotations

import base64
import json
import posixpath
import string
from typing import TypeVar

from proreus.api.go_text import json_kind, mistyped, plain
from proreus.api.wire import strict_json
from proreus.lazy_dataclass import dataclass

_VERSION = "meta.k8s.io/v1"
_ALPHABET = frozenset((string.ascii_letters + string.digits + "-_").encode())
_T = TypeVar("_T", str, int)


class ContinueError(ValueError):
    """Says, in Kubernetes' words, why a token cannot be used."""


@dataclass(frozen=True, slots=True)
class ContinueToken:
    """``start`` is relative to the request's key prefix, inclusive."""

    revision: int
    start: str

    @property
    def is_pinned(self) -> bool:
        """False: continue in the newest state."""
        return self.revision > 0

    def unpinned(self) -> ContinueToken:
        return ContinueToken(-1, self.start)

    def encode(self) -> str:
        body = json.dumps(
            {"v": _VERSION, "rv": self.revision, "start": self.start}, separators=(",", ":")
        )
        return base64.urlsafe_b64encode(body.encode()).rstrip(b"=").decode()

    @staticmethod
    def decode(token: str) -> ContinueToken:
        """Raises ContinueError."""
        value = _json_object(_bytes(token))
        version = _typed(value, "v", str, "string")
        revision = _typed(value, "rv", int, "int64")
        start = _typed(value, "start", str, "string")
        if version != _VERSION:
            raise ContinueError(
                "continue key is not valid: server does not recognize this encoded version "
                f"{version}"
            )
        if revision == 0:
            raise ContinueError(
                "continue key is not valid: incorrect encoded start resourceVersion "
                f"(version {_VERSION})"
            )
        if not start:
            raise ContinueError(
                f"continue key is not valid: encoded start key empty (version {_VERSION})"
            )
        # A leading slash is added before cleaning, as Kubernetes does, so that ".." cannot leave.
        key = start if start.startswith("/") else f"/{start}"
        if _clean(key) != key:
            raise ContinueError(f"continue key is not valid: {start}")
        return ContinueToken(revision, key[1:])


def _bytes(token: str) -> bytes:
    """Go skips line ends, names the first byte that does not belong, and a lone last one."""
    raw = token.encode().replace(b"\n", b"").replace(b"\r", b"")
    bad = next((i for i, byte in enumerate(raw) if byte not in _ALPHABET), None)
    if bad is None and len(raw) % 4 == 1:
        bad = len(raw) - 1
    if bad is not None:
        raise ContinueError(f"continue key is not valid: illegal base64 data at input byte {bad}")
    return base64.urlsafe_b64decode(raw + b"=" * (-len(raw) % 4))


def _json_object(raw: bytes) -> dict[str, object]:
    try:
        value, _ = strict_json.decode_strict(raw)
    except strict_json.JsonError as fault:
        raise ContinueError(f"continue key is not valid: {fault}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        why = mistyped(value, "storage.continueToken")
        raise ContinueError(f"continue key is not valid: {why}")
    # Go finds the fields of a struct whatever the case of their names; the last one counts.
    return {name.casefold(): item for name, item in value.items()}


def _typed(value: dict[str, object], field: str, wanted: type[_T], go_type: str) -> _T:
    found = value.get(field, wanted())
    if found is None:
        return wanted()
    if isinstance(found, wanted) and not isinstance(found, bool) and _fits(found):
        return found
    rendered = json_kind(found)
    if wanted is int and rendered == "number":
        rendered += f" {plain(found)}"
    raise ContinueError(
        f"continue key is not valid: json: cannot unmarshal {rendered} into Go struct "
        f"field continueToken.{field} of type {go_type}"
    )


def _fits(value: str | int) -> bool:
    return isinstance(value, str) or -(2**63) <= value < 2**63


def _clean(key: str) -> str:
    # The NUL that closes a start key is no path character; posixpath treats it as any other.
    return posixpath.normpath(key) if not key.startswith("//") else posixpath.normpath(key[1:])
