"""Storage errors of a verb → the API error that its client gets (server.md §3.2).

The verbs call this where they know the resource and the name; ``http/errors`` maps what is left.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType

from proreus.api.group_version import GroupResource
from proreus.api.status import (
    AlreadyExists,
    ApiError,
    Conflict,
    InternalError,
    NotFound,
    PlainError,
    ResourceVersionTooLarge,
    ServerTimeout,
)
from proreus.server.storage.interface import (
    FutureRevision,
    InvalidKey,
    KeyExists,
    KeyNotFound,
    PreconditionFailed,
    StorageBroken,
    StorageError,
    StorageFull,
    StorageReadOnly,
    Unavailable,
    ValueTooLarge,
)

# etcd's message, which Kubernetes passes on as a 500 without a reason.
TOO_LARGE = "etcdserver: request is too large"


class ErrorTranslation(ABC):
    """A block whose errors become API errors. A class: writes pass some, a generator costs."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None and (translated := self.translated(error)) is not None:
            raise translated from error

    @abstractmethod
    def translated(self, error: BaseException) -> ApiError | None:
        """None: it is not one of those that are translated here."""


class translate_errors(ErrorTranslation):
    """Translates what storage raises inside."""

    __slots__ = ("_name", "_operation", "_resource")

    def __init__(self, resource: GroupResource, name: str, operation: str) -> None:
        self._resource = resource
        self._name = name
        self._operation = operation

    def translated(self, error: BaseException) -> ApiError | None:
        if not isinstance(error, StorageError):
            return None
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
            case StorageBroken():
                return InternalError.of("the storage failed: the server must be restarted")
            case Unavailable():
                return ServerTimeout.of(resource, self._operation, 2)
            case StorageFull():
                return InternalError.of("the storage is full")
            case StorageReadOnly():
                return InternalError.of("the storage is read-only")
            case ValueTooLarge():
                return PlainError(TOO_LARGE)
            case _:
                return InternalError.of(str(error))
