"""Storage failures of a verb → what the caller is told (spec/server §3.2).

The verbs call this where they know the resource and the name; ``http/errors`` maps what is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from proreus.api.group_version import GroupResource
from proreus.api.status import (
    AlreadyExists,
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


@contextmanager
def told_as(resource: GroupResource, name: str, operation: str) -> Iterator[None]:
    """Translate what storage raises inside."""
    try:
        yield
    except KeyNotFound as error:
        raise NotFound.of(resource, name) from error
    except KeyExists as error:
        raise AlreadyExists.of(resource, name) from error
    except PreconditionFailed as error:
        raise Conflict.of(resource, name, error.detail) from error
    except FutureRevision as error:
        raise ResourceVersionTooLarge.of(error.wanted, error.current, retry_after_s=0) from error
    except InvalidKey as error:
        raise NotFound.of(resource, name) from error
    except Unavailable as error:
        raise ServerTimeout.of(resource, operation, 2) from error
    except StorageFull as error:
        raise InternalError.of("the storage is full") from error
    except StorageError as error:
        raise InternalError.of(str(error)) from error
