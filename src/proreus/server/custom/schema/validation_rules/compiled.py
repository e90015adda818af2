"""The rules of a schema, compiled: the programs of each node that has rules.

Compiling needs a checker per place (about 2 ms) and happens when a place is first asked for, so
that a server with many definitions starts without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from proreus.lazy_dataclass import dataclass
from proreus.server.cel.checker import Checker, CheckError, uses_old_self
from proreus.server.cel.evaluate import Program
from proreus.server.cel.shapes import ValueShape
from proreus.server.custom.schema.structural import Structural
from proreus.server.custom.schema.validation_rules.schema_shapes import shape_of

RULES = "x-kubernetes-validations"


def rules_at(schema: Structural) -> list[Mapping[str, Any]]:
    """The rules of a place, not of those below it."""
    return schema.raw.get(RULES) or []


def expressions(rules: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The texts of rules and of their messages."""
    for raw in rules:
        for field in ("rule", "messageExpression"):
            if isinstance(text := raw.get(field), str):
                yield text


@dataclass(frozen=True, slots=True)
class CompiledRule:
    raw: Mapping[str, Any]
    program: Program | None
    message: Program | None
    is_transition: bool
    has_old_in_message: bool
    error: str  # why there is no program: only definitions written elsewhere have one

    @property
    def has_optional_old(self) -> bool:
        return bool(self.raw.get("optionalOldSelf"))


@dataclass(frozen=True, slots=True)
class NodeRules:
    """A place in the schema that has rules."""

    shape: ValueShape | None
    rules: tuple[CompiledRule, ...]


class CompiledRules:
    """Compiled rules by their place, made on demand. Lives as long as its schema is served."""

    __slots__ = ("_places",)

    def __init__(self) -> None:
        self._places: dict[
            int, tuple[Structural, NodeRules]
        ] = {}  # the schema kept: ids are reused

    def has(self, schema: Structural) -> bool:
        return id(schema) in self._places

    def at(self, schema: Structural, *, is_resource: bool) -> NodeRules:
        found = self._places.get(id(schema))
        if found is None:
            found = self._places[id(schema)] = schema, _compiled(schema, is_resource=is_resource)
        return found[1]


def _compiled(schema: Structural, *, is_resource: bool) -> NodeRules:
    shape = shape_of(schema, is_resource=is_resource)
    rules = rules_at(schema)
    checker = Checker.of_rules(shape, expressions(rules))
    made = tuple(_rule(raw, checker) for raw in rules)
    if not any(one.is_transition for one in made):  # then no message is told a former value
        made = tuple(replace(one, message=None) if one.has_old_in_message else one for one in made)
    return NodeRules(shape, made)


def _rule(raw: Mapping[str, Any], checker: Checker) -> CompiledRule:
    optional = bool(raw.get("optionalOldSelf"))
    message, message_node = None, None
    try:
        node = checker.check(raw["rule"], optional_old=optional)
        if text := raw.get("messageExpression"):
            message_node = checker.check(text, optional_old=optional)
            message = Program(message_node, checker)
    except CheckError as error:
        return CompiledRule(
            raw, None, None, is_transition=False, has_old_in_message=False, error=str(error)
        )
    has_old = message_node is not None and uses_old_self(message_node)
    return CompiledRule(raw, Program(node, checker), message, uses_old_self(node), has_old, "")
