"""How a call fails: gRPC's status codes, and whether the peer may have acted on it."""

from __future__ import annotations

from enum import IntEnum


class Code(IntEnum):
    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class RpcFailed(Exception):
    """``is_unsent``: the peer surely did nothing, and the call may be made again elsewhere."""

    def __init__(self, code: Code, details: str, *, is_unsent: bool = False) -> None:
        super().__init__(f"{code.name}: {details}")
        self.code = code
        self.details = details
        self.is_unsent = is_unsent

    def again(self) -> RpcFailed:
        """For another call that failed for the same reason; an exception has one traceback."""
        return RpcFailed(self.code, self.details, is_unsent=self.is_unsent)


def code_of(number: int) -> Code:
    try:
        return Code(number)
    except ValueError:
        return Code.UNKNOWN
