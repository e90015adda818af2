"""Validation rules through a server: written, broken, changed, paid for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from proreus.client import Invalid
from proreus.server.offload import Lane
from proreus.testing.server import RunningServer, running_server
from tests.custom.asking import WIDGETS, define, definitions, redefine, until, widgets
from tests.custom.definitions import INTEGER, TEXT, definition, version, widget

pytest.importorskip("cel_expr_python.cel")


@pytest.fixture
async def server() -> AsyncIterator[RunningServer]:
    async with running_server() as started:
        yield started


def ruled(*rules: str | dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A definition whose spec has rules."""
    made = version(spec=spec, status={"n": INTEGER}, subresources={"status": {}})
    validations = [{"rule": one} if isinstance(one, str) else one for one in rules]
    fields = made["schema"]["openAPIV3Schema"]["properties"]
    fields["spec"]["x-kubernetes-validations"] = validations
    return definition(made)


async def test_a_rule_about_a_field_that_is_not_there_is_refused(server: RunningServer) -> None:
    async with server.client() as client:
        with pytest.raises(Invalid) as refused:
            await definitions(client).create(ruled("self.nope == 1", n=INTEGER))

    assert (
        "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: "
        'Invalid value: {"Rule":"self.nope == 1","Message":"","MessageExpression":"","Reason":null,'
        '"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:5: undefined '
        "field 'nope'" in str(refused.value)
    )


async def test_rules_validate_objects_with_all_causes(server: RunningServer) -> None:
    by_code = {"rule": "self.low > 0", "reason": "FieldValueForbidden", "fieldPath": ".low"}
    # How long a joined text may be is not known of numbers: the estimate refuses those.
    rule = {"rule": "self.low <= self.high", "messageExpression": "string(self.low)"}
    async with server.client() as client:
        await define(client, ruled(rule, by_code, low=INTEGER, high=INTEGER))
        await widgets(client).create(widget("fine", spec={"low": 1, "high": 2}))
        with pytest.raises(Invalid) as refused:
            await widgets(client).create(widget("wrong", spec={"low": 0, "high": -1}))

    causes = refused.value.status["details"]["causes"]
    assert [(one["field"], one["message"]) for one in causes] == [
        ("spec", "Invalid value: 0"),
        (
            "spec.low",
            "Forbidden: failed rule: self.low > 0",
        ),
    ]


async def test_transition_rules_look_back(server: RunningServer) -> None:
    async with server.client() as client:
        await define(client, ruled("self.name == oldSelf.name", name=TEXT, n=INTEGER))
        await widgets(client).create(widget("a", spec={"name": "x"}))

        await widgets(client).patch("a", {"spec": {"n": 1}})
        with pytest.raises(Invalid, match=r"failed rule: self\.name == oldSelf\.name"):
            await widgets(client).patch("a", {"spec": {"name": "y"}})


async def test_what_a_new_rule_finds_wrong_may_stay_with_a_warning(server: RunningServer) -> None:
    warned: list[str] = []
    async with server.client() as client:
        await define(client, ruled("true", n=INTEGER))
        await widgets(client).create(widget("a", spec={"n": 50}))
        await redefine(client, ruled("self.n < 10", n=INTEGER))

        async def is_in_force() -> bool:
            try:
                await widgets(client).create(widget("b", spec={"n": 50}), dry_run=True)
            except Invalid:
                return True
            return False

        await until(is_in_force)
    async with server.client(on_warning=warned.append) as client:
        await widgets(client).patch("a", {"metadata": {"labels": {"a": "b"}}})
        with pytest.raises(Invalid, match="failed rule"):
            await widgets(client).patch("a", {"spec": {"n": 51}})

    assert warned == ["spec: Invalid value: failed rule: self.n < 10"]


async def test_a_rule_that_takes_too_long_is_stopped(server: RunningServer) -> None:
    numbers = {"type": "array", "items": INTEGER, "maxItems": 900}
    rule = "self.l.all(x, self.l.all(y, x + y >= 0))"
    async with server.client() as client:
        await define(client, ruled(rule, l=numbers))
        await widgets(client).create(widget("few", spec={"l": [1, 2, 3]}))
        with pytest.raises(Invalid, match="actual cost limit exceeded"):
            await widgets(client).create(widget("many", spec={"l": list(range(900))}))


async def test_a_rule_that_could_take_too_long_is_refused(server: RunningServer) -> None:
    numbers = {"type": "array", "items": INTEGER}
    rule = "self.l.all(x, self.l.all(y, x + y >= 0))"
    async with server.client() as client:
        with pytest.raises(Invalid, match="estimated rule cost exceeds budget by factor of more"):
            await definitions(client).create(ruled(rule, l=numbers))
        found = await definitions(client).list()

    assert WIDGETS not in [one.name for one in found.items]


async def test_a_rule_that_spends_its_budget_holds_up_nobody_else(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = {"type": "array", "maxItems": 1000, "items": INTEGER}
    has_begun, may_go_on = asyncio.Event(), asyncio.Event()
    run = Lane.run

    async def take_long(lane: Lane, work: Callable[[], Any]) -> Any:
        if "custom objects" in repr(lane):
            has_begun.set()
            await may_go_on.wait()
        return await run(lane, work)

    async with server.client() as client:
        await define(client, ruled("self.l.all(x, self.l.all(y, x + y > -1))", l=many))
        monkeypatch.setattr(Lane, "run", take_long)
        costly = asyncio.create_task(
            widgets(client).create(widget("costly", spec={"l": list(range(330))}))
        )
        await has_begun.wait()
        for n in range(3):
            await widgets(client).create(widget(f"cheap-{n}", spec={"l": [n]}))

        assert not costly.done()
        may_go_on.set()
        assert (await costly).name == "costly"


async def test_what_is_validated_in_a_thread_is_refused_with_its_causes(
    server: RunningServer,
) -> None:
    many = {"type": "array", "maxItems": 1000, "items": INTEGER}
    async with server.client() as client:
        await define(client, ruled("self.l.all(x, self.l.all(y, x + y < 300))", l=many))
        made = await widgets(client).create(widget("grows", spec={"l": [1]}))
        changed = {**made.to_dict(), "spec": {"l": list(range(250))}}
        with pytest.raises(Invalid) as refused:
            await widgets(client).replace(changed)

    assert "spec: Invalid value: failed rule: self.l.all(x" in str(refused.value)
