"""A schema's rules in CEL. Their engine is loaded for the first schema that has some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proreus.api.field_error import FieldError
from proreus.server.custom.structural import Structural

if TYPE_CHECKING:
    from proreus.server.custom.cel.program import SchemaRules


class Expressions:
    __slots__ = ("_rules", "_schema")

    def __init__(self, schema: Structural) -> None:
        self._schema = schema
        self._rules: SchemaRules | None = None

    def violations(
        self, obj: Any, old: Any, found: list[FieldError], *, at: str = ""
    ) -> list[FieldError]:
        """What the rules say of an object in which ``found`` is wrong already.

        ``at`` is where it stands, if it is part of another.
        """
        if not self._schema.has_rules:
            return []
        from proreus.server.custom.cel.program import SchemaRules, blocked_by

        if self._rules is None:
            self._rules = SchemaRules(self._schema)
        return blocked_by(found) or self._rules.violations(
            obj, old, is_resource=not at or self._schema.is_embedded, at=at
        )
