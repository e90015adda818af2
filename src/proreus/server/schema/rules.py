"""The rules of one kind that a table cannot say (Kubernetes: strategy).

Every hook is synchronous and pure but for the object it is given. Objects are decoded JSON dicts
in the storage version, with metadata. ``prepare_*`` runs after decoding and defaulting, before
admission and validation; ``validate_*`` returns every violation, and raises nothing but Laborious.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from proreus.api.field_error import FieldError, TooManyFaults

JsonObject = dict[str, Any]

Default = Callable[[JsonObject], None]
PrepareCreate = Callable[[JsonObject], None]
PrepareUpdate = Callable[[JsonObject, JsonObject], None]  # new, old
Validate = Callable[[JsonObject], list[FieldError]]
ValidateUpdate = Callable[[JsonObject, JsonObject], list[FieldError]]  # new, old
Warnings = Callable[[JsonObject], list[str]]


class Laborious(Exception):
    """A judgement that would hold up everybody else: ``finish`` has it made elsewhere."""

    def __init__(self, finish: Callable[[], Awaitable[list[FieldError]]]) -> None:
        super().__init__()
        self.finish = finish


Judgement = Callable[[], list[FieldError]]


async def at_once(judgement: Judgement) -> list[FieldError]:
    return judgement()


async def judged(
    judgement: Judgement, do: Callable[[Judgement], Awaitable[list[FieldError]]] = at_once
) -> list[FieldError]:
    """What a ``validate_*`` says, however long it takes and however much it would be."""
    try:
        try:
            return await do(judgement)
        except Laborious as more:
            return await more.finish()
    except TooManyFaults as many:
        return many.found


def _nothing(*_: object) -> None:
    return None


def _no_errors(*_: object) -> list[FieldError]:
    return []


def _no_warnings(_: JsonObject) -> list[str]:
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What is particular about a kind. The defaults describe a plain object such as ConfigMap."""

    default: Default = _nothing
    prepare_create: PrepareCreate = _nothing
    prepare_update: PrepareUpdate = _nothing
    prepare_status: PrepareUpdate = _nothing  # what a status write must not change
    validate: Validate = _no_errors
    validate_update: ValidateUpdate = _no_errors
    validate_status: ValidateUpdate = _no_errors
    warnings: Warnings = _no_warnings
    warnings_on_create: Warnings = _no_warnings  # said before the others, and only once
    warns_of_changes: bool = False  # an update warns only if it raises the generation
    keeps_status: bool = False  # a create may bring its status along (nodes)


PLAIN = Rules()
