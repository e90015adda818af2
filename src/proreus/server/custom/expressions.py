"""A schema's rules in CEL. Their engine is loaded for the first schema that has some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proreus.api.field_error import FieldError
from proreus.server.custom.structural import Structural
from proreus.server.custom.workbench import Workbench
from proreus.server.schema.rules import Laborious

if TYPE_CHECKING:
    from proreus.server.custom.cel.program import SchemaRules


class Expressions:
    """Without a ``workbench`` every judgement is made at once, however long it takes."""

    __slots__ = ("_rules", "_schema", "_workbench")

    def __init__(self, schema: Structural, workbench: Workbench | None = None) -> None:
        self._schema = schema
        self._workbench = workbench
        self._rules: SchemaRules | None = None

    def judged(self, obj: Any, old: Any, found: list[FieldError]) -> list[FieldError]:
        """``found`` is wrong already; and what the rules say, if they can be asked then.

        Raises Laborious if they take long.
        """
        if not self._schema.has_rules:
            return found
        from proreus.server.custom.cel.pace import Pace, Paused, on_loop, on_thread
        from proreus.server.custom.cel.program import SchemaRules, blocked_by

        if blocked := blocked_by(found):
            return found + blocked
        rules = self._rules = self._rules or SchemaRules(self._schema)

        def judge(pace: Pace | None) -> list[FieldError]:
            return found + rules.violations(obj, old, pace=pace)

        bench = self._workbench
        if bench is None:
            return judge(None)
        try:
            return judge(on_loop())
        except Paused:
            raise Laborious(lambda: bench.run(lambda: judge(on_thread()))) from None
