"""One violated rule of one field, worded as Kubernetes words it (server.md §7).

Validation collects these; ``status.Invalid`` turns a list of them into a 422.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Self

from proreus.api import go_text
from proreus.lazy_dataclass import dataclass

# How many faults of one request are reported. Kubernetes reports all of them: 3 MiB of bad labels
# become a response of 130 MB, which takes seconds to write.
FAULTS_MAX = 500
FAULT_CHARS_MAX = 4 * 1024 * 1024  # of all together; one may quote a whole body
MORE = "and more"


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


class TooManyFaults(Exception):
    """There are more faults than are reported; ``found`` has one more than those."""

    def __init__(self, found: list[FieldError]) -> None:
        super().__init__()
        self.found = found


class Faults(list[FieldError]):
    """Collects faults up to the limit of what is reported; one more ends validation.

    Adding that one raises TooManyFaults, which ``collect_faults`` catches.
    """

    __slots__ = ("_chars",)

    def __init__(self, faults: Iterable[FieldError] = ()) -> None:
        self._chars = 0
        if faults:
            self.extend(faults)

    def append(self, fault: FieldError) -> None:
        super().append(fault)
        self._chars += len(fault.message)
        if len(self) > FAULTS_MAX or self._chars > FAULT_CHARS_MAX:
            raise TooManyFaults(list(self))

    def extend(self, faults: Iterable[FieldError]) -> None:
        for fault in faults:
            self.append(fault)

    def __iadd__(self, faults: Iterable[FieldError]) -> Self:  # type: ignore[misc, override]  # any
        if faults:  # as it seldom is
            self.extend(faults)
        return self


def collect_faults(validate: Callable[[], list[FieldError]]) -> list[FieldError]:
    """What ``validate`` finds, or the first of it if that is too much."""
    try:
        return list(validate())
    except TooManyFaults as many:
        return many.found


def required(field: str, detail: str = "") -> FieldError:
    return FieldError(field, Reason.REQUIRED, f"Required value{_tail(detail)}")


def invalid(field: str, value: object, detail: str = "") -> FieldError:
    message = f"Invalid value: {quote(value)}{_tail(detail)}"
    return FieldError(field, Reason.INVALID, message)


def invalid_json(field: str, value: object, detail: str) -> FieldError:
    """Of a text that is behind a pointer in Kubernetes, which prints it as JSON."""
    return FieldError(
        field, Reason.INVALID, f"Invalid value: {go_text.json_text(value)}{_tail(detail)}"
    )


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


def not_found(field: str, value: object, detail: str = "") -> FieldError:
    return FieldError(field, Reason.NOT_FOUND, f"Not found: {quote(value)}{_tail(detail)}")


def too_long(field: str, limit: int, unit: str = "bytes") -> FieldError:
    return FieldError(field, Reason.TOO_LONG, f"Too long: may not be more than {limit} {unit}")


def too_many(field: str, actual: int, limit: int) -> FieldError:
    message = f"Too many: {actual}: must have at most {limit} {'item' if limit == 1 else 'items'}"
    return FieldError(field, Reason.TOO_MANY, message)


def join(errors: Iterable[FieldError]) -> str:
    """One error as itself, several as ``[a, b]``; equal ones are listed once."""
    texts = list(dict.fromkeys(limited([str(error) for error in errors])))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def limited(texts: list[str]) -> list[str]:
    """The faults that a message lists: the first ones, and a last word if there are more."""
    return texts if len(texts) <= FAULTS_MAX else [*texts[:FAULTS_MAX], MORE]


def quote(value: object) -> str:
    """A value as Kubernetes prints it inside a message: strings quoted, numbers as Go prints them,
    the rest as JSON."""
    if isinstance(value, str):
        return go_text.quoted(value)
    if isinstance(value, float) or (isinstance(value, int) and abs(value) >= 1 << 63):
        return go_text.number(float(value))
    return go_text.json_text(_in_order(value))


def sorted_keys(value: object) -> object:
    """What is a map in Go, with its keys in the order in which Go prints them."""
    ordered: object = json.loads(json.dumps(value, sort_keys=True))
    return ordered


def _in_order(value: object) -> object:
    """Selectors of labels, alone or in an object, print their fields as Go orders them."""
    if not isinstance(value, dict) or _is_selector(value):
        return _selector_in_order(value)
    return {key: _selector_in_order(each) for key, each in value.items()}


def _is_selector(value: object) -> bool:
    return isinstance(value, dict) and value.keys() <= {"matchLabels", "matchExpressions"}


def _selector_in_order(value: object) -> object:
    if not isinstance(value, dict) or not _is_selector(value):
        return value
    labels, requirements = value.get("matchLabels"), value.get("matchExpressions")
    found = {"matchLabels": sorted_keys(labels)} if "matchLabels" in value else {}
    if requirements is not None:
        names = ("key", "operator", "values")
        found["matchExpressions"] = [{n: r[n] for n in names if n in r} for r in requirements]
    return found


def _tail(detail: str) -> str:
    return f": {detail}" if detail else ""
