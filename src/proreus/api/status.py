"""The one shape of every failure: a Status object and the exception that carries it.

    ApiError                      any failure the API reports; ``.status`` is the Status object
    ├── BadRequest 400            ├── Unauthorized 401      ├── Forbidden 403
    ├── NotFound 404              ├── MethodNotAllowed 405  ├── NotAcceptable 406
    ├── AlreadyExists 409         ├── Conflict 409          ├── Expired 410 (Gone)
    ├── TooLarge 413              ├── UnsupportedMediaType 415
    ├── Invalid 422               ├── TooManyRequests 429
    ├── InternalError 500         ├── ServerTimeout 500     ├── PlainError 500 (no reason)
    └── ServiceUnavailable 503    └── Timeout 504
                                      └── ResourceVersionTooLarge

The server raises these and writes ``status`` (only ``server/http/errors.py`` turns other
exceptions into them); the client reads a Status and raises the same classes. Wording and
details follow server.md §7.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.go_text import quoted
from proreus.api.group_version import GroupKind, GroupResource
from proreus.api.json_types import Json, JsonObject


class ApiError(Exception):
    """A failure with its Status object. Subclasses fix code and reason."""

    code: ClassVar[int] = 500
    reason: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        details: Json | None = None,
        metadata: Json | None = None,
        status: Json | None = None,
    ) -> None:
        super().__init__(message)
        self.status: JsonObject = (
            dict(status) if status is not None else self._build(message, details, metadata)
        )

    def _build(self, message: str, details: Json | None, metadata: Json | None) -> JsonObject:
        status: JsonObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": dict(metadata or {}),
            "status": "Failure",
            "message": message,
        }
        if self.reason:
            status["reason"] = self.reason
        if details is not None:
            status["details"] = dict(details)
        status["code"] = self.code
        return status

    @property
    def message(self) -> str:
        return str(self.status.get("message", ""))

    @property
    def details(self) -> Json:
        return self.status.get("details") or {}

    @property
    def causes(self) -> list[JsonObject]:
        return list(self.details.get("causes") or ())

    @property
    def retry_after_s(self) -> int:
        """Seconds the server asks to wait before trying again; 0 if it does not ask."""
        return int(self.details.get("retryAfterSeconds") or 0)

    @staticmethod
    def from_status(status: Json) -> ApiError:
        """The exception for a Status received from a server: by reason, else by code."""
        reason, code = status.get("reason", ""), int(status.get("code") or 0)
        message = str(status.get("message", ""))
        if _is_too_large(status):
            return ResourceVersionTooLarge(message, status=status)
        found = _BY_REASON.get(reason) or (None if reason else _BY_CODE.get(code))
        return (found or _BY_CODE.get(code) or ApiError)(message, status=status)


class BadRequest(ApiError):
    code, reason = 400, "BadRequest"


class Unauthorized(ApiError):
    code, reason = 401, "Unauthorized"

    @classmethod
    def default(cls) -> Unauthorized:
        return cls("Unauthorized")


class Forbidden(ApiError):
    code, reason = 403, "Forbidden"

    @classmethod
    def of(
        cls, resource: GroupResource, name: str, why: str, *, causes: Iterable[Json] = ()
    ) -> Forbidden:
        subject = f"{resource} {quoted(name)}" if name else str(resource)
        text = f"{subject} is forbidden: {why}"
        return cls(text, details=resource_details(resource, name, causes=causes))


class NotFound(ApiError):
    code, reason = 404, "NotFound"

    @classmethod
    def of(cls, resource: GroupResource, name: str) -> NotFound:
        return cls(f"{resource} {quoted(name)} not found", details=resource_details(resource, name))

    @classmethod
    def path(cls) -> NotFound:
        """A path that no resource serves."""
        return cls("the server could not find the requested resource", details={})


class MethodNotAllowed(ApiError):
    code, reason = 405, "MethodNotAllowed"

    @classmethod
    def default(cls) -> MethodNotAllowed:
        return cls("the server does not allow this method on the requested resource", details={})

    @classmethod
    def of(cls, resource: GroupResource, verb: str) -> MethodNotAllowed:
        return cls(
            f'{verb} is not supported on resources of kind "{resource}"',
            details=resource_details(resource, ""),
        )


class NotAcceptable(ApiError):
    code, reason = 406, "NotAcceptable"


class AlreadyExists(ApiError):
    code, reason = 409, "AlreadyExists"

    @classmethod
    def of(cls, resource: GroupResource, name: str) -> AlreadyExists:
        return cls(
            f"{resource} {quoted(name)} already exists", details=resource_details(resource, name)
        )


class Conflict(ApiError):
    code, reason = 409, "Conflict"

    @classmethod
    def of(cls, resource: GroupResource, name: str, why: str) -> Conflict:
        return cls(
            f"Operation cannot be fulfilled on {resource} {quoted(name)}: {why}",
            details=resource_details(resource, name),
        )

    @classmethod
    def modified(cls, resource: GroupResource, name: str) -> Conflict:
        """The optimistic lock failed."""
        return cls.of(
            resource,
            name,
            "the object has been modified; "
            "please apply your changes to the latest version and try again",
        )


class Expired(ApiError):
    code, reason = 410, "Expired"


class TooLarge(ApiError):
    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(ApiError):
    code, reason = 415, "UnsupportedMediaType"


class Invalid(ApiError):
    code, reason = 422, "Invalid"

    @classmethod
    def of(cls, kind: GroupKind, name: str, errors: Iterable[FieldError]) -> Invalid:
        """Every violated rule of an object is a cause, of very many the first are; the message
        says equal ones once."""
        found = list(errors)
        details = _without_empty({"name": name, "group": kind.group, "kind": kind.kind})
        details["causes"] = [error.cause() for error in found[: field_error.FAULTS_MAX]]
        return cls(f"{kind} {quoted(name)} is invalid: {field_error.join(found)}", details=details)


class TooManyRequests(ApiError):
    code, reason = 429, "TooManyRequests"

    @classmethod
    def of(cls, message: str, retry_after_s: int) -> TooManyRequests:
        return cls(message, details={"retryAfterSeconds": retry_after_s})


class InternalError(ApiError):
    code, reason = 500, "InternalError"

    @classmethod
    def of(cls, why: str) -> InternalError:
        return cls(f"Internal error occurred: {why}", details={"causes": [{"message": why}]})


class ServerTimeout(ApiError):
    code, reason = 500, "ServerTimeout"

    @classmethod
    def of(cls, resource: GroupResource, operation: str, retry_after_s: int) -> ServerTimeout:
        details = resource_details(resource, operation)
        details["retryAfterSeconds"] = retry_after_s
        text = (
            f"The {operation} operation against {resource} could not be completed at this time, "
            "please try again."
        )
        return cls(text, details=details)


class PlainError(ApiError):
    """What Kubernetes answers where its own code forgot to map an error: 500 with no reason."""

    code, reason = 500, ""


class ServiceUnavailable(ApiError):
    code, reason = 503, "ServiceUnavailable"


class Timeout(ApiError):
    code, reason = 504, "Timeout"


class ResourceVersionTooLarge(Timeout):
    """A revision was asked for that the server has not reached."""

    @classmethod
    def of(cls, wanted: int, current: int, *, retry_after_s: int) -> ResourceVersionTooLarge:
        details: JsonObject = {
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ]
        }
        if retry_after_s:
            details["retryAfterSeconds"] = retry_after_s
        text = f"Timeout: Too large resource version: {wanted}, current: {current}"
        return cls(text, details=details)


def success(details: Json) -> JsonObject:
    """The Status that answers a delete: no code field, kind is the plural (server.md §6.4)."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": dict(details),
    }


def resource_details(
    resource: GroupResource, name: str, *, causes: Iterable[Json] = ()
) -> JsonObject:
    details = _without_empty({"name": name, "group": resource.group, "kind": resource.resource})
    if found := [dict(cause) for cause in causes]:
        details["causes"] = found
    return details


def _without_empty(values: JsonObject) -> JsonObject:
    return {key: value for key, value in values.items() if value}


def _is_too_large(status: Json) -> bool:
    causes = (status.get("details") or {}).get("causes") or ()
    if any(cause.get("reason") == "ResourceVersionTooLarge" for cause in causes):
        return True
    # Servers before the typed cause said it only in words (client.md §1.6).
    return status.get("reason") == "Timeout" and any(
        "Too large resource version" in str(text)
        for text in (status.get("message", ""), *(cause.get("message", "") for cause in causes))
    )


_CLASSES: tuple[type[ApiError], ...] = (
    BadRequest, Unauthorized, Forbidden, NotFound, MethodNotAllowed, NotAcceptable, Conflict,
    AlreadyExists, Expired, TooLarge, UnsupportedMediaType, Invalid, TooManyRequests,
    InternalError, ServerTimeout, ServiceUnavailable, Timeout,
)  # fmt: skip
_BY_REASON: dict[str, type[ApiError]] = {cls.reason: cls for cls in _CLASSES} | {"Gone": Expired}
_BY_CODE: dict[int, type[ApiError]] = {cls.code: cls for cls in reversed(_CLASSES)}
