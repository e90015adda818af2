"""Rules that take long are run where they hold up nobody, and say the same there."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("cel_expr_python.cel")

from proreus.server.cel.pace import CostPace, PaceExceeded, on_loop, unhurried
from proreus.server.custom.schema.expressions import Expressions
from proreus.server.custom.schema.structural import MISSING, Structural, parse
from proreus.server.custom.schema.validation_rules.program import SchemaRules
from proreus.server.offload import INLINE, NeedsThread, open_offload
from proreus.server.resource.rules import Validated, run_validation


def ruled(rule: str, **more: Any) -> Structural:
    items = {"type": "array", "items": {"type": "integer", **more}}
    spec = {"type": "object", "properties": {"l": items},
            "x-kubernetes-validations": [{"rule": rule}]}  # fmt: skip
    return parse({"type": "object", "properties": {"spec": spec}})


PAIRS = "self.l.all(x, self.l.all(y, x + y < 198))"
FEW, MANY = ({"spec": {"l": list(range(n))}} for n in (3, 100))


async def test_a_cheap_validation_runs_on_the_loop_and_another_one_in_a_thread() -> None:
    async with open_offload() as offload:
        rules = Expressions(ruled(PAIRS), offload.custom_objects)

        def violations(obj: Any) -> Validated:
            return rules.paced(lambda pace: rules.violations(obj, MISSING, [], pace))

        assert violations(FEW) == []
        assert isinstance(violations(MANY), NeedsThread)
        found = await run_validation(lambda: violations(MANY), INLINE, INLINE)

    assert found == Expressions(ruled(PAIRS)).violations(MANY, MISSING, [], unhurried())
    assert [error.field for error in found] == ["spec"]


def test_many_cheap_rules_are_not_cheap_together() -> None:
    rules = SchemaRules(ruled("true", **{"x-kubernetes-validations": [{"rule": "self >= 0"}]}))
    rules.violations(FEW)  # compiled

    assert rules.violations(MANY, pace=on_loop()) == []
    with pytest.raises(PaceExceeded):
        rules.violations({"spec": {"l": list(range(20_000))}}, pace=on_loop())


def test_rules_that_were_never_compiled_are_not_cheap() -> None:
    rules = SchemaRules(ruled("true", **{"x-kubernetes-validations": [{"rule": "self >= 0"}]}))

    with pytest.raises(PaceExceeded):
        rules.violations(FEW, pace=on_loop())


def test_a_long_run_rests_on_its_way() -> None:
    rests: list[None] = []

    found = SchemaRules(ruled(PAIRS)).violations(
        MANY, pace=CostPace(2_000, lambda: rests.append(None))
    )

    assert [error.field for error in found] == ["spec"]
    assert len(rests) > 10
