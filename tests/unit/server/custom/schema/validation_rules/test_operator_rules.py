"""Rules as operators publish them: long, nested, over lists with bounds. None may be refused."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("cel_expr_python.cel")

from proreus.server.custom.schema.structural import parse
from proreus.server.custom.schema.validation_rules.declared import rule_violations
from proreus.server.custom.schema.validation_rules.program import SchemaRules

Schema = dict[str, Any]


def ruled(schema: Schema, *rules: str) -> Schema:
    return {**schema, "x-kubernetes-validations": [{"rule": rule} for rule in rules]}


def text(most: int = 253, **words: Any) -> Schema:
    return {"type": "string", "maxLength": most, **words}


def fields(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def items(schema: Schema, most: int, **words: Any) -> Schema:
    return {"type": "array", "items": schema, "maxItems": most, **words}


SAME_PLACE = (
    "(!has(a.__namespace__) && !has(b.__namespace__)) || "
    "(has(a.__namespace__) && has(b.__namespace__) && a.__namespace__ == b.__namespace__)"
)
TARGET = fields(group=text(), kind=text(63), name=text(), namespace=text(63), port={
    "type": "integer"})  # fmt: skip
TARGETS = ruled(
    items(TARGET, 32),
    f"self.all(a, self.exists_one(b, a.name == b.name && a.kind == b.kind && ({SAME_PLACE})))",
    "self.all(a, a.kind == 'Service' ? has(a.port) : true)",
    "self.filter(a, a.kind == 'Service').size() <= 8",
)
PATH = ruled(
    fields(type=text(enum=["Exact", "Prefix"], default="Prefix"), value=text(1024)),
    "self.type in ['Exact', 'Prefix'] ? self.value.startsWith('/') : true",
    "!self.value.contains('//') && !self.value.endsWith('/..')",
    r"""self.value.matches(r'^(?:[-A-Za-z0-9/._~]|%[0-9a-fA-F]{2})+$')""",
)
TIMES = ruled(
    fields(whole=text(pattern="^[0-9]+s$"), each=text(pattern="^[0-9]+s$")),
    "!(has(self.whole) && has(self.each) && duration(self.whole) != duration('0s') "
    "&& duration(self.each) > duration(self.whole))",
)
ROUTE = fields(paths=items(PATH, 64), targets=TARGETS, times=TIMES)
SIZES = [f"(self.size() > {at} ? self[{at}].paths.size() : 0)" for at in range(16)]
LISTENER = fields(name=text(), port={"type": "integer"}, host=text(), protocol=text(255))
LISTENERS = ruled(
    items(LISTENER, 64),
    "self.all(a, self.exists_one(b, a.name == b.name))",
    "self.all(a, self.exists_one(b, a.port == b.port && a.protocol == b.protocol && "
    "(has(a.host) && has(b.host) ? a.host == b.host : !has(a.host) && !has(b.host))))",
    "self.all(a, a.protocol in ['TCP', 'UDP'] ? !has(a.host) : true)",
)
SCHEMA = fields(
    spec=fields(routes=ruled(items(ROUTE, 16), f"{' + '.join(SIZES)} <= 128"), listeners=LISTENERS)
)


def test_they_are_accepted() -> None:
    assert rule_violations(parse(SCHEMA), "s") == []


def route(**changes: Any) -> Schema:
    target = {"group": "", "kind": "Service", "name": "a", "port": 80}
    plain = {"paths": [{"type": "Prefix", "value": "/a"}], "targets": [target]}
    return {"spec": {"routes": [{**plain, **changes}], "listeners": []}}


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({}, ""),
        ({"paths": [{"type": "Exact", "value": "a"}]}, "spec.routes[0].paths[0]"),
        ({"paths": [{"type": "Exact", "value": "/a b"}]}, "spec.routes[0].paths[0]"),
        ({"times": {"whole": "5s", "each": "10s"}}, "spec.routes[0].times"),
        ({"times": {"whole": "0s", "each": "10s"}}, ""),
        ({"targets": [{"kind": "Service", "name": "a"}]}, "spec.routes[0].targets"),
        ({"targets": [{"kind": "X", "name": "a"}, {"kind": "X", "name": "a"}]},
         "spec.routes[0].targets"),
        ({"targets": [{"kind": "X", "name": "a", "namespace": "n"}, {"kind": "X", "name": "a"}]},
         ""),
        ({"paths": [{"type": "Prefix", "value": "/a"}] * 129}, "spec.routes"),
    ],
)  # fmt: skip
def test_they_find_what_is_wrong(changes: dict[str, Any], place: str) -> None:
    found = SchemaRules(parse(SCHEMA)).violations(route(**changes))

    assert {error.field for error in found} == ({place} if place else set())
