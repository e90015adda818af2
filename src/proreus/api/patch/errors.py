"""Why a patch could not be applied, and which Status that becomes.

    PatchError
    ├── MalformedPatch      400 BadRequest     the document is no patch of its kind
    ├── RejectedPatch       422 Invalid        a JSON patch operation failed; says nothing more
    ├── UndecodablePatch    422 Invalid        the result does not decode; cause field "patch"
    ├── TooManyOperations   413
    └── UnmappedPatchError  500 without reason what Kubernetes forgot to map (strategic, apply)
        └── UnknownOwnerVersion            a manager wrote in a version that is gone

``to_status()`` is the one translation; the registry calls it where it catches PatchError.
"""

from __future__ import annotations

from typing import ClassVar

from proreus.api import field_error, status
from proreus.api.group_version import GroupKind


class PatchError(Exception):
    """``str(error)`` is the message of the Status; subclasses say which Status."""

    becomes: ClassVar[type[status.ApiError]]

    def to_status(self) -> status.ApiError:
        return self.becomes(str(self))


class MalformedPatch(PatchError):
    becomes = status.BadRequest


class RejectedPatch(PatchError):
    """The reason is for logs; clients of Kubernetes get only that something failed."""

    def to_status(self) -> status.ApiError:
        message = "the server rejected our request due to an error in our request"
        return status.Invalid(message, details={})


class UndecodablePatch(PatchError):
    """``rendered`` is the patched document or the patch, as Kubernetes prints it in the cause."""

    def __init__(self, rendered: str, why: str) -> None:
        super().__init__(why)
        self.rendered = rendered

    def to_status(self) -> status.ApiError:
        cause = field_error.invalid("patch", self.rendered, str(self))
        return status.Invalid.of(GroupKind("", ""), "", [cause])


class TooManyOperations(PatchError):
    becomes = status.TooLarge

    def __init__(self, count: int, limit: int) -> None:
        super().__init__(
            "Request entity too large: The allowed maximum operations in a JSON patch "
            f"is {limit}, got {count}"
        )


class UnmappedPatchError(PatchError):
    becomes = status.PlainError


class UnknownOwnerVersion(UnmappedPatchError):
    """A manager wrote in a version that the custom kind does not have, or has no more."""

    def __init__(self, version: str) -> None:
        super().__init__(f"request to convert CR to an invalid group/version: {version}")
