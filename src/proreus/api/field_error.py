"""One violated rule of one field, worded as Kubernetes words it (spec/server §7).

Validation collects these; ``status.Invalid`` turns a list of them into a 422.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from proreus.api import go_text


class Reason(StrEnum):
    """The cause reasons clients match on."""

    NOT_FOUND = "FieldValueNotFound"
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    INTERNAL = "InternalError"
    TYPE_INVALID = "FieldValueTypeInvalid"


@dataclass(frozen=True, slots=True)
class FieldError:
    """``str(error)`` is ``<field>: <message>``, the form that joins into a Status message."""

    field: str
    reason: Reason
    message: str
    is_tolerated: bool = False  # it was so before the write: a warning, no refusal

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"

    def cause(self) -> dict[str, str]:
        """The entry of ``details.causes``."""
        return {"reason": self.reason.value, "message": self.message, "field": self.field}


def required(field: str, detail: str = "") -> FieldError:
    return FieldError(field, Reason.REQUIRED, f"Required value{_tail(detail)}")


def invalid(field: str, value: object, detail: str = "") -> FieldError:
    message = f"Invalid value: {quote(value)}{_tail(detail)}"
    return FieldError(field, Reason.INVALID, message)


def type_invalid(field: str, value: object, detail: str = "") -> FieldError:
    message = f"Invalid value: {quote(value)}{_tail(detail)}"
    return FieldError(field, Reason.TYPE_INVALID, message)


def not_supported(field: str, value: object, supported: Sequence[str]) -> FieldError:
    known = ", ".join(quote(v) for v in supported)
    tail = f": supported values: {known}" if supported else ""
    return FieldError(field, Reason.NOT_SUPPORTED, f"Unsupported value: {quote(value)}{tail}")


def forbidden(field: str, detail: str) -> FieldError:
    return FieldError(field, Reason.FORBIDDEN, f"Forbidden{_tail(detail)}")


def duplicate(field: str, value: object) -> FieldError:
    return FieldError(field, Reason.DUPLICATE, f"Duplicate value: {quote(value)}")


def not_found(field: str, value: object) -> FieldError:
    return FieldError(field, Reason.NOT_FOUND, f"Not found: {quote(value)}")


def too_long(field: str, limit: int, unit: str = "bytes") -> FieldError:
    return FieldError(field, Reason.TOO_LONG, f"Too long: may not be more than {limit} {unit}")


def too_many(field: str, actual: int, limit: int, unit: str = "items") -> FieldError:
    message = f"Too many: {actual}: must have at most {limit} {unit}"
    return FieldError(field, Reason.TOO_MANY, message)


def join(errors: Iterable[FieldError]) -> str:
    """One error as itself, several as ``[a, b]``; equal ones are said once."""
    texts = list(dict.fromkeys(str(error) for error in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def quote(value: object) -> str:
    """A value as Kubernetes prints it inside a message: strings quoted, the rest as JSON."""
    if isinstance(value, str):
        return go_text.quoted(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _tail(detail: str) -> str:
    return f": {detail}" if detail else ""
