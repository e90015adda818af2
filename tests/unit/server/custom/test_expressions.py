"""Rules that take long are run where they hold up nobody, and say the same there."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("cel_expr_python.cel")

from proreus.server.custom.cel.pace import Pace, Paused, on_loop
from proreus.server.custom.cel.program import SchemaRules
from proreus.server.custom.expressions import Expressions
from proreus.server.custom.structural import MISSING, Structural, parse
from proreus.server.custom.workbench import open_workbenches
from proreus.server.schema.rules import Laborious, judged


def ruled(rule: str, **more: Any) -> Structural:
    items = {"type": "array", "items": {"type": "integer", **more}}
    spec = {"type": "object", "properties": {"l": items},
            "x-kubernetes-validations": [{"rule": rule}]}  # fmt: skip
    return parse({"type": "object", "properties": {"spec": spec}})


PAIRS = "self.l.all(x, self.l.all(y, x + y < 198))"
FEW, MANY = ({"spec": {"l": list(range(n))}} for n in (3, 100))


async def test_a_cheap_judgement_is_made_at_once_and_another_one_aside() -> None:
    with open_workbenches() as benches:
        rules = Expressions(ruled(PAIRS), benches.objects)

        assert rules.judged(FEW, MISSING, []) == []
        with pytest.raises(Laborious):
            rules.judged(MANY, MISSING, [])
        found = await judged(lambda: rules.judged(MANY, MISSING, []))

    assert found == Expressions(ruled(PAIRS)).judged(MANY, MISSING, [])
    assert [error.field for error in found] == ["spec"]


def test_many_cheap_rules_are_not_cheap_together() -> None:
    rules = SchemaRules(ruled("true", **{"x-kubernetes-validations": [{"rule": "self >= 0"}]}))
    rules.violations(FEW)  # compiled

    assert rules.violations(MANY, pace=on_loop()) == []
    with pytest.raises(Paused):
        rules.violations({"spec": {"l": list(range(20_000))}}, pace=on_loop())


def test_rules_that_were_never_compiled_are_not_cheap() -> None:
    rules = SchemaRules(ruled("true", **{"x-kubernetes-validations": [{"rule": "self >= 0"}]}))

    with pytest.raises(Paused):
        rules.violations(FEW, pace=on_loop())


def test_a_long_run_rests_on_its_way() -> None:
    rests: list[None] = []

    found = SchemaRules(ruled(PAIRS)).violations(MANY, pace=Pace(2_000, lambda: rests.append(None)))

    assert [error.field for error in found] == ["spec"]
    assert len(rests) > 10
