"""Translates errors of etcd and gRPC into storage errors. The only place that reads their codes."""

from __future__ import annotations

from proreus.net.grpc.failures import Code, RpcFailed
from proreus.server.storage.interface import (
    AccessDenied,
    StorageError,
    StorageFull,
    Unavailable,
    ValueTooLarge,
)

# etcd repeats these words in all versions; the codes alone are ambiguous.
_COMPACTED = "required revision has been compacted"
_FUTURE = "required revision is a future revision"
_TOO_LARGE = "request is too large"
_NO_SPACE = "database space exceeded"
_BAD_TOKEN = "invalid auth token"
_NO_LEADER = "no leader"


class RevisionCompacted(Exception):
    """The revision asked for is gone; etcd does not say since when."""


class RevisionInFuture(Exception):
    """The revision asked for is not reached; etcd does not say where it is."""


class TokenExpired(Exception):
    """The login is over: nothing was done, log in again."""


class EndpointFailed(Exception):
    """One endpoint did not answer; another may. ``is_unsent``: it surely did nothing."""

    def __init__(self, reason: str, *, is_unsent: bool) -> None:
        super().__init__(reason)
        self.is_unsent = is_unsent


def translated(failure: RpcFailed) -> Exception:
    """The one meaning of an RPC's failure: an exception of this module, or a StorageError."""
    code, words = failure.code, failure.details
    if _COMPACTED in words:
        return RevisionCompacted(words)
    if _FUTURE in words:
        return RevisionInFuture(words)
    if _BAD_TOKEN in words:
        return TokenExpired(words)
    if refusal := _refusal(code, words):
        return refusal
    # "no leader" comes before a request is proposed.
    is_unsent = failure.is_unsent or (code == Code.UNAVAILABLE and _NO_LEADER in words)
    return EndpointFailed(f"{code.name}: {words}", is_unsent=is_unsent)


def _refusal(code: Code, words: str) -> StorageError | None:
    if _NO_SPACE in words:
        return StorageFull(f"etcd has no space left: {words}")
    if _TOO_LARGE in words or "larger than max" in words:
        return ValueTooLarge(f"etcd refuses a value of this size: {words}")
    if code in (Code.PERMISSION_DENIED, Code.UNAUTHENTICATED) or (
        "authentication" in words or "user name is empty" in words
    ):
        return AccessDenied(f"etcd refuses access: {words}")
    return None


def unavailable(reasons: dict[str, str]) -> Unavailable:
    reasons_text = "; ".join(f"{endpoint}: {reason}" for endpoint, reason in reasons.items())
    return Unavailable(f"no etcd endpoint answers: {reasons_text}")
