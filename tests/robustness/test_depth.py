"""Nesting has an end everywhere, and whoever goes beyond is refused: never an error of ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from proreus.server.app import ApiServer
from tests.custom.definitions import definition, version
from tests.robustness.custom import (
    APPLY,
    DEFINITIONS,
    JSON,
    JSON_PATCH,
    MERGE,
    WIDGETS,
    create,
    define,
)
from tests.robustness.wire import CONFIG_MAPS, ask, assert_alive, names

# Of each class one: taken, taken by some verbs, refused, and deeper than anything recurses.
DEPTHS = (246, 250, 260, 3_000)
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def objects(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


def lists(depth: int) -> bytes:
    return b"[" * depth + b"1" + b"]" * depth


def widget(name: str, value: bytes, revision: str = "") -> bytes:
    head = b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":'
    meta = {"name": name, **({"resourceVersion": revision} if revision else {})}
    return head + json.dumps(meta).encode() + b',"spec":{"x":%b}}' % value


def owned(fields: bytes) -> bytes:
    entry = b'{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1"'
    return b'{"metadata":{"name":"a","managedFields":[%b,"fieldsV1":%b}]}}' % (entry, fields)


@pytest.mark.parametrize("depth", DEPTHS)
async def test_custom_objects_and_their_patches(server: ApiServer, depth: int) -> None:
    await define(server, x={"x-kubernetes-preserve-unknown-fields": True})
    created = await create(server, "a", x={})
    assert created.code == 201
    revision = created.json["metadata"]["resourceVersion"]
    one = f"{WIDGETS}/a"
    deep = objects(depth)
    answers = [
        await ask(server, "POST", WIDGETS, widget("o", deep), JSON),
        await ask(server, "POST", WIDGETS, widget("l", lists(depth)), JSON),
        await ask(server, "PUT", one, widget("a", deep, revision), JSON),
        await ask(server, "PATCH", one, b'{"spec":{"x":%b}}' % deep, MERGE),
        await ask(
            server, "PATCH", one, b'[{"op":"add","path":"/spec/x","value":%b}]' % deep, JSON_PATCH
        ),
        await ask(server, "PATCH", f"{one}?fieldManager=m&force=true", widget("a", deep), APPLY),
    ]

    expected = {201, 200} if depth < 248 else {400, 201} if depth < 253 else {400}
    assert {answer.code for answer in answers} <= expected, answers
    for accept in ("application/json;as=Table;g=meta.k8s.io;v=v1", "application/yaml"):
        listed = await ask(
            server, "GET", f"{WIDGETS}?includeObject=Object", None, [("Accept", accept)]
        )
        assert listed.code == 200, listed
    await assert_alive(server)


@pytest.mark.parametrize("depth", DEPTHS)
async def test_managed_fields(server: ApiServer, depth: int) -> None:
    quoted = json.dumps(objects(depth).decode())[1:-1].encode()
    answers = [
        await ask(server, "POST", CONFIG_MAPS, owned(fields), JSON)
        for fields in (
            b'{"f:a":' * depth + b"{}" + b"}" * depth,
            b'{"f:a":%b}' % lists(depth),
            b'{"k:%b":{}}' % quoted,
            b'{"v:%b":{}}' % lists(depth),
        )
    ]

    assert {answer.code for answer in answers} <= {201, 400, 409}, answers
    await assert_alive(server)


Schema = Callable[[int], dict[str, Any]]


def nested(inside: Callable[[Any], Any], leaf: Any, depth: int) -> Any:
    for _ in range(depth):
        leaf = inside(leaf)
    return leaf


SCHEMAS: dict[str, Callable[[int], Any]] = {
    "properties": lambda n: nested(
        lambda inner: {"type": "object", "properties": {"a": inner}}, {"type": "string"}, n
    ),
    "items": lambda n: nested(
        lambda inner: {"type": "array", "items": inner}, {"type": "string"}, n
    ),
    "values": lambda n: nested(
        lambda inner: {"type": "object", "additionalProperties": inner}, {"type": "string"}, n
    ),
    "not": lambda n: {"type": "object", **nested(lambda inner: {"not": inner}, {}, n)},
    "anyOf": lambda n: {"type": "object", **nested(lambda inner: {"anyOf": [inner]}, {}, n)},
    "default": lambda n: {**ANYTHING, "default": nested(lambda inner: {"a": inner}, {}, n)},
    "enum": lambda n: {**ANYTHING, "enum": [nested(lambda inner: [inner], 1, n)]},
}


@pytest.mark.parametrize("depth", [100, 122, 128, 260, 400])
async def test_schemas(server: ApiServer, depth: int) -> None:
    for word, schema in SCHEMAS.items():
        made = definition(
            version(spec={"x": schema(depth)}), plural=word.lower(), kind=word.capitalize()
        )

        created = await ask(server, "POST", DEFINITIONS, json.dumps(made).encode(), JSON)

        assert created.code in (201, 400), (word, created)
        assert (await ask(server, "GET", "/openapi/v2")).code == 200, word
    await assert_alive(server)


RULES: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: "(" * n + "true" + ")" * n,
    "negations": lambda n: "!" * n + "true",
    "signs": lambda n: "-" * n + "1 < 2",
    "conjunctions": lambda n: "&&".join(["true"] * n),
    "sums": lambda n: "+".join(["1"] * n) + " > 0",
    "choices": lambda n: "true?" * n + "true" + ":false" * n,
    "lists": lambda n: "[" * n + "]" * n + " == []",
    "maps": lambda n: "{'a':" * n + "1" + "}" * n + " == {}",
    "indices": lambda n: "self" + "[0]" * n + " == 1",
    "loops": lambda n: "[1].all(x, " * n + "true" + ")" * n,
}


async def test_rules(server: ApiServer) -> None:
    pytest.importorskip("cel_expr_python.cel")
    for (word, rule), depth in product(RULES.items(), (30, 300, 3_000)):
        made = definition(version(spec={}))
        fields = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
        fields["spec"]["x-kubernetes-validations"] = [{"rule": rule(depth)}]

        created = await ask(
            server, "POST", f"{DEFINITIONS}?dryRun=All", json.dumps(made).encode(), JSON
        )

        assert created.code in (201, 422), (word, depth, created)
    await assert_alive(server)


@pytest.mark.parametrize(
    "path",
    [".a" * 3_000, ".a" + "[" * 3_000, ".a" + "[?(@.a" * 900 + "==1)]" * 900, ".." * 3_000 + "a"],
)
async def test_paths_of_columns(server: ApiServer, path: str) -> None:
    column = {"name": "x", "type": "string", "jsonPath": path}
    made = definition(version(spec={"x": ANYTHING}, additionalPrinterColumns=[column]))

    created = await ask(server, "POST", DEFINITIONS, json.dumps(made).encode(), JSON)

    assert created.code in (201, 422), created
    if created.code == 201:
        while (await ask(server, "GET", WIDGETS)).code != 200:
            pass
        await create(server, "a", x=json.loads(objects(100)))
        table = [("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")]
        assert (await ask(server, "GET", WIDGETS, None, table)).code == 200
        assert await names(server, WIDGETS) == ["a"]


async def test_patterns_that_are_none_are_the_callers_fault(server: ApiServer) -> None:
    for pattern in (r"\x{FFFFFFFFFF}", "(" * 2_000 + ")" * 2_000, r"\C"):
        made = definition(version(spec={"x": {"type": "string", "pattern": pattern}}))

        created = await ask(server, "POST", DEFINITIONS, json.dumps(made).encode(), JSON)

        assert created.code == 422, created
        assert (
            "must be a valid regular expression, but isn't: error parsing regexp: "
            in (created.json["message"])
        )


async def test_steps_of_any_size_are_compared(server: ApiServer) -> None:
    steps = {"tiny": 5e-324, "small": 1e-300, "large": 1e300}
    await define(server, **{k: {"type": "number", "multipleOf": v} for k, v in steps.items()})

    for field in steps:
        refused = await create(server, "a", **{field: 1.5})

        assert refused.code == 422, refused
        assert f"spec.{field} in body should be a multiple of " in refused.json["message"]
