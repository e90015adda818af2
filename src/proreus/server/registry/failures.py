"""Storage failures of a verb → what the caller is told (spec/server §3.2).

The verbs call this where they know the resource and the name; ``http/errors`` maps what is left.
"""

from __future__ import annotations

from types import TracebackType

from proreus.api.group_version import GroupResource
from proreus.api.status import (
    AlreadyExists,
    ApiError,
    Conflict,
    InternalError,
    NotFound,
    ResourceVersionTooLarge,
    ServerTimeout,
)
from proreus.server.storage.interface import (
    FutureRevision,
    InvalidKey,
    KeyExists,
    KeyNotFound,
    PreconditionFailed,
    StorageError,
    StorageFull,
    Unavailable,
)


class told_as:
    """Translate what storage raises inside. A class: every write passes one, a generator costs."""

    __slots__ = ("_name", "_operation", "_resource")

    def __init__(self, resource: GroupResource, name: str, operation: str) -> None:
        self._resource = resource
        self._name = name
        self._operation = operation

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, StorageError):
            raise self._told(error) from error

    def _told(self, error: StorageError) -> ApiError:
        resource, name = self._resource, self._name
        match error:
            case KeyNotFound() | InvalidKey():
                return NotFound.of(resource, name)
            case KeyExists():
                return AlreadyExists.of(resource, name)
            case PreconditionFailed():
                return Conflict.of(resource, name, error.detail)
            case FutureRevision():
                return ResourceVersionTooLarge.of(error.wanted, error.current, retry_after_s=0)
            case Unavailable():
                return ServerTimeout.of(resource, self._operation, 2)
            case StorageFull():
                return InternalError.of("the storage is full")
            case _:
                return InternalError.of(str(error))
