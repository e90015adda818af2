"""Objects that expressions make: their types, and what is said of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("cel_expr_python.cel")

from proreus.server.cel.admission import (
    CALL_LIMIT,
    ExpressionInvalid,
    admission_variables,
    compile_expression,
    type_text,
)
from proreus.server.cel.checker import Checker
from proreus.server.cel.initializers import MadeObject, Spelling, misnamed

POD = {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}
NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True)


def made(text: str) -> tuple[Any, str]:
    """The value of an expression, and the type it was checked to have."""
    checker = Checker(admission_variables(), making=text)
    compiled = compile_expression(checker, text, ())
    outcome = compiled.program.run((POD, None, None, {}, None, None), CALL_LIMIT)
    assert not outcome.error
    return outcome.value, type_text(compiled.type)


def test_an_object_has_the_fields_it_was_given() -> None:
    value, kind = made(
        "Object{spec: Object.spec{replicas: 2, containers: object.spec.containers.map(c, "
        "Object.spec.containers{name: c.name, image: 'Object.spec{}'})}}"
    )

    assert kind == "Object"
    assert value == {
        "spec": {
            "replicas": 2,
            "containers": [
                {"name": "a", "image": "Object.spec{}"},
                {"name": "b", "image": "Object.spec{}"},
            ],
        }
    }
    assert not list(misnamed(value))


def test_optional_fields_are_left_out() -> None:
    value, _ = made("Object{?spec: object.?nothing, ?data: optional.of({'a': 'b'})}")

    assert value == {"data": {"a": "b"}}


def test_an_empty_list_of_patches_takes_the_type_of_the_other_branch() -> None:
    text = "has(object.x) ? [] : [JSONPatch{op: 'add', path: '/' + jsonpatch.escapeKey('a/b')}]"
    value, kind = made(text)

    assert kind == "list(JSONPatch)"
    assert value == [{"op": "add", "path": "/a~1b"}]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Object{data: Object.other{x: 1}}", "Object.data"),
        ("Object{spec: Object.spec{list: [Object.spec.wrong{}]}}", "Object.spec.list"),
        ("Object.spec{template: Object{}}", "Object.spec.template"),
    ],
)
def test_a_type_is_named_after_the_fields_above_it(text: str, expected: str) -> None:
    (said,) = misnamed(made(text)[0])

    assert f'expected "{expected}", which matches field name path from root Object' in said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Object . spec {a: nothing}",
         "ERROR: <input>:1:19: undeclared reference to 'nothing' (in container '')"),
        ("Object.a_b{} == Object.a.b{}",
         "ERROR: <input>:1:14: found no matching overload for '_==_' applied to '(Object.a_b, "
         "Object.a.b)'\n | Object.a_b{} == Object.a.b{}\n | .............^"),
        ("Other{}", "ERROR: <input>:1:1: undeclared reference to 'Other' (in container '')"),
        ("JSONPatch{why: 'x'}", "ERROR: <input>:1:14: undefined field 'why'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_of_the_text_as_it_was_written(text: str, why: str) -> None:
    with pytest.raises(ExpressionInvalid) as refused:
        made(text)

    assert str(refused.value).startswith(f"compilation failed: {why}")


@given(st.lists(st.lists(NAMES, min_size=1, max_size=4), min_size=1, max_size=5))
def test_every_type_keeps_its_length_and_gets_a_name_of_its_own(paths: list[list[str]]) -> None:
    names = [".".join(["Object", *path]) for path in paths]
    text = " + ".join(f"{name}{{}}" for name in names) + " + 'Object.in.a.text{'"

    spelling = Spelling.of(text)

    assert len(spelling.text) == len(text)
    assert set(spelling.types.values()) == set(names)
    assert spelling.restored(spelling.text) == text
    assert all("." not in made for made in spelling.types)
    assert spelling.text.endswith("'Object.in.a.text{'")


def test_a_made_object_knows_its_type() -> None:
    assert MadeObject("Object.spec", {"a": 1}).cel_type == "Object.spec"
