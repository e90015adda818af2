"""A schema's rules in CEL. The engine is loaded for the first schema that has some."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from proreus.api.field_error import FieldError
from proreus.server.cel.pace import CostPace, PaceExceeded, on_loop, on_thread, unhurried
from proreus.server.custom.schema.structural import Structural
from proreus.server.offload import Lane, NeedsThread
from proreus.server.resource.rules import Validated

if TYPE_CHECKING:
    from proreus.server.custom.schema.validation_rules.program import SchemaRules


class Expressions:
    """Without a ``lane`` every object is validated at once, however long it takes."""

    __slots__ = ("_lane", "_rules", "_schema")

    def __init__(self, schema: Structural, lane: Lane | None = None) -> None:
        self._schema = schema
        self._lane = lane
        self._rules: SchemaRules | None = None

    def violations(
        self, obj: Any, old: Any, found: list[FieldError], pace: CostPace
    ) -> list[FieldError]:
        """``found`` is wrong already; and what the rules say, if they can be asked then.

        Raises PaceExceeded.
        """
        if not self._schema.has_rules:
            return found
        from proreus.server.custom.schema.validation_rules.program import SchemaRules, blocked_by

        if blocked := blocked_by(found):
            return found + blocked
        rules = self._rules = self._rules or SchemaRules(self._schema)
        return found + rules.violations(obj, old, pace=pace)

    def paced(self, validate: Callable[[CostPace], list[FieldError]]) -> Validated:
        """Validate on the loop, or in a thread if that takes long."""
        lane = self._lane
        if lane is None:
            return validate(unhurried())
        try:
            return validate(on_loop())
        except PaceExceeded:
            return NeedsThread(lambda: validate(on_thread()), lane)
