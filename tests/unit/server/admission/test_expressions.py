"""Match conditions: what they decide, what they may cost, and whom they may ask."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("cel_expr_python.cel")

from proreus.server.admission.expressions import (
    Excluded,
    ExpressionRunner,
    Match,
    MatchCondition,
    Matched,
    Undecided,
    match_conditions,
)
from proreus.server.authz.authorizer import (
    ALLOWED,
    NO_OPINION,
    Action,
    Authorization,
    Chain,
    PossibleVerdict,
)
from proreus.server.cel.functions.authorization import Authorizer
from proreus.server.cel.pace import unhurried
from proreus.server.offload import open_offload
from proreus.server.registry.user import User

ANN = User("ann")
TEN = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
ENDLESS = (
    f"{TEN}.all(a, {TEN}.all(b, {TEN}.all(c, {TEN}.all(d, {TEN}.all(e, {TEN}.all(f, f > 0))))))"
)


def conditions(*texts: str) -> Sequence[MatchCondition]:
    return [MatchCondition(f"c{number}", text) for number, text in enumerate(texts)]


def decided(*texts: str) -> Match:
    values: Sequence[Any] = ({"metadata": {"name": "a"}}, None, None, {}, None, None)
    return match_conditions(conditions(*texts), values, unhurried())


def test_all_must_hold() -> None:
    assert decided("object.metadata.name == 'a'", "oldObject == null") == Matched()
    assert decided() == Matched()


def test_one_that_does_not_hold_decides_whatever_happened_to_the_others() -> None:
    assert decided("object.spec == 1", "false", "true") == Excluded("c1")


def test_errors_are_reported_together() -> None:
    lost = "expression 'object.spec == 1' resulted in error: no such key: spec"

    assert decided("object.spec == 1", "true") == Undecided(lost, 1)
    found = decided("object.spec == 1", "object.spec == 1", "object.status == 1")
    other = "expression 'object.status == 1' resulted in error: no such key: status"
    assert found == Undecided(f"[{lost}, {other}]", 3)


def test_a_condition_that_was_stored_before_it_became_invalid_is_an_error() -> None:
    found = decided("true", "nobody_knows_this(1)")

    assert isinstance(found, Undecided)
    assert found.why.startswith("compilation error: compilation failed: ERROR: <input>:1:18: ")


def test_conditions_have_a_limit_each_and_one_together() -> None:
    limit = f"expression '{ENDLESS}' resulted in error: operation cancelled: actual cost limit "

    assert decided(ENDLESS) == Undecided(f"{limit}exceeded", 1)
    assert decided(ENDLESS, ENDLESS, ENDLESS, "false") == Undecided(
        "validation failed due to running out of cost budget, no further validation rules will be "
        "run",
        0,
    )


async def test_a_question_waits_for_its_answer_and_is_asked_once() -> None:
    asked: list[Action] = []

    async def later(action: Action) -> Any:
        return ALLOWED if action.verb == "get" else NO_OPINION

    def authorize(action: Action) -> PossibleVerdict:
        asked.append(action)
        return later(action)

    may = "authorizer.group('apps').resource('deployments').namespace('x').check('get').allowed()"
    account = "authorizer.serviceAccount('x', 'y').path('/healthz').check('put').allowed()"
    texts = conditions(may, f"{may} && !{account}")
    async with open_offload() as offload:
        runner = ExpressionRunner(Authorization(Chain.of([authorize])), offload.expressions)
        found = await runner.run(
            ANN,
            lambda ask, pace: match_conditions(
                texts, (None, None, None, {}, Authorizer(ask), None), pace
            ),
        )

    assert found == Matched()
    get, put = asked
    assert (get.user, get.group, get.resource, get.namespace) == (ANN, "apps", "deployments", "x")
    assert (put.user.name, put.path) == ("system:serviceaccount:x:y", "/healthz")


async def test_what_takes_long_does_not_hold_the_loop() -> None:
    threads: set[int] = set()
    values: Sequence[Any] = (None, None, None, {}, None, None)

    def evaluate(ask: Any, pace: Any) -> Match:
        threads.add(threading.get_ident())
        return match_conditions(conditions(ENDLESS), values, pace)

    async with open_offload() as offload:
        runner = ExpressionRunner(Authorization(Chain.of([])), offload.expressions)
        found = await runner.run(ANN, evaluate)

    assert isinstance(found, Undecided)
    assert len(threads) == 2
    assert threading.get_ident() in threads
