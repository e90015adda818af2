"""Classes as schemas and values: what goes out comes back, and fits the schema it came with."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, make_dataclass
from datetime import UTC, datetime, timedelta
from types import GenericAlias
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.client import (
    PrinterColumn,
    Rule,
    Scale,
    SchemaError,
    checked,
    custom_resource,
    definition_of,
    keyed_by,
)
from proreus.client.typed_schema import atomic, object_schema, rules, schema_of, unique
from proreus.client.typed_values import from_wire, named, to_wire
from proreus.server.custom.definition.rules import DEFINITION
from proreus.server.custom.definition.schema_rules import schema_violations
from proreus.server.custom.schema.prune import prune
from proreus.server.custom.schema.structural import parse
from proreus.server.custom.schema.validate import validate


@dataclass
class Tree:
    below: list[Tree]


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Port:
    number: Annotated[int, checked(minimum=1, maximum=65535), Rule("self != 22", "not ours")]
    name: str = "http"


@rules(Rule("self.low <= self.high", "low must not exceed high", field_path=".low"))
@dataclass
class Spec:
    """What is wanted."""

    low: int
    wanted: int | None
    high: int = 10
    since: datetime | None = None
    every: timedelta = timedelta(minutes=5)
    secret: bytes = b""
    color: Color = Color.RED
    mode: Literal["on", "off"] = "on"
    target: int | str = "50%"
    ports: Annotated[list[Port], keyed_by("name")] = field(default_factory=list)
    tags: Annotated[list[str], unique()] = field(default_factory=list)
    command: Annotated[list[str], atomic()] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    pod_cidr: Annotated[str | None, named("podCIDR")] = None
    from_: str | None = None
    extra: Any = None


def test_every_type_has_its_schema() -> None:
    schema = schema_of(Port)

    assert schema == {
        "type": "object",
        "properties": {
            "number": {
                "type": "integer", "format": "int64", "minimum": 1, "maximum": 65535,
                "x-kubernetes-validations": [{"rule": "self != 22", "message": "not ours"}],
            },
            "name": {"type": "string", "default": "http"},
        },
        "required": ["number"],
    }  # fmt: skip


def test_words_that_need_more_than_a_type_are_annotated() -> None:
    schema = object_schema(Spec)
    fields = schema["properties"]

    assert schema["required"] == ["low"]
    assert schema["description"] == "What is wanted."
    assert schema["x-kubernetes-validations"] == [
        {
            "rule": "self.low <= self.high",
            "message": "low must not exceed high",
            "fieldPath": ".low",
        }
    ]
    assert fields["since"] == {"type": "string", "format": "date-time"}
    assert fields["secret"] == {"type": "string", "format": "byte"}
    assert fields["every"] == {"type": "string", "format": "duration", "default": "5m0s"}
    assert fields["color"] == {"type": "string", "enum": ["red", "blue"], "default": "red"}
    assert fields["target"] == {"x-kubernetes-int-or-string": True, "default": "50%"}
    assert fields["ports"]["x-kubernetes-list-map-keys"] == ["name"]
    assert fields["tags"]["x-kubernetes-list-type"] == "set"
    assert fields["command"]["x-kubernetes-list-type"] == "atomic"
    assert fields["podCIDR"] == {"type": "string"}
    assert fields["from"] == {"type": "string"}
    assert fields["extra"] == {"x-kubernetes-preserve-unknown-fields": True}


def test_a_definition_made_of_a_class_is_one_the_server_takes() -> None:
    @custom_resource(
        group="example.com",
        version="v1",
        columns=(PrinterColumn("Low", ".spec.low", "integer", wide=True),),
        scale=Scale(".spec.low", ".status.low", ".status.selector"),
        categories=("all",),
    )
    @dataclass
    class Box:
        spec: Spec

    manifest = definition_of(Box).manifest()
    DEFINITION.default(manifest)
    DEFINITION.prepare_create(manifest)

    assert DEFINITION.validate(manifest) == []
    assert definition_of(Box).resource == "boxes.v1.example.com"


@pytest.mark.parametrize(
    "kind",
    [object, int | float, dict[int, str], Literal["a", 1], set[str], tuple[int, int]],
)
def test_types_without_a_schema_are_refused(kind: Any) -> None:
    with pytest.raises(SchemaError, match="has no schema"):
        schema_of(kind)


def test_a_class_that_is_part_of_itself_is_refused() -> None:
    with pytest.raises(SchemaError, match="part of itself"):
        schema_of(Tree)


def test_values_go_out_and_come_back() -> None:
    value = Spec(
        low=1,
        wanted=None,
        since=datetime(2024, 2, 29, 12, 0, 0, 500_000, UTC),
        secret=b"hi",
        color=Color.BLUE,
        target=3,
        ports=[Port(80)],
        pod_cidr="10.0.0.0/8",
        from_="here",
        extra={"a": [1, None]},
    )

    sent = to_wire(value)

    assert sent["since"] == "2024-02-29T12:00:00.500000Z"
    assert sent["secret"] == "aGk="
    assert sent["podCIDR"] == "10.0.0.0/8"
    assert "wanted" not in sent
    assert from_wire(Spec, sent) == value


def test_empty_bytes_are_left_out_as_servers_take_no_empty_text_for_them() -> None:
    sent = to_wire(Spec(low=1, wanted=None))

    assert "secret" not in sent
    assert from_wire(Spec, sent).secret == b""


texts = st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=8)
moments = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(-(2**63), 2**63 - 1),
    str: texts,
    bool: st.booleans(),
    float: st.floats(allow_nan=False, allow_infinity=False, width=32),
    bytes: st.binary(min_size=1, max_size=8),  # empty ones are not sent: see above
    datetime: moments,
    timedelta: st.integers(0, 10**9).map(lambda n: timedelta(milliseconds=n)),
    Color: st.sampled_from(Color),
    Literal["on", "off"]: st.sampled_from(["on", "off"]),
    int | str: st.integers(0, 100) | texts,
}
Typed = tuple[Any, st.SearchStrategy[Any]]


def _below(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    return st.one_of(
        inner.map(lambda one: (GenericAlias(list, one[0]), st.lists(one[1], max_size=3))),
        inner.map(_map),
        inner.map(lambda one: (one[0] | None, st.none() | one[1])),
        st.lists(inner, min_size=1, max_size=3).map(_class),
    )


def _map(one: Typed) -> Typed:
    return GenericAlias(dict, (str, one[0])), st.dictionaries(texts, one[1], max_size=3)


def _class(parts: list[Typed]) -> Typed:
    made = make_dataclass("Made", [(f"field_{at}", kind) for at, (kind, _) in enumerate(parts)])
    values = st.tuples(*(values for _, values in parts))
    return made, values.map(lambda given: made(*given))


kinds = st.recursive(st.sampled_from(list(SCALARS.items())), _below, max_leaves=6)


@given(st.data())
def test_random_classes_fit_their_own_schemas(data: st.DataObject) -> None:
    kind, values = _class(data.draw(st.lists(kinds, min_size=1, max_size=3)))
    value = data.draw(values)

    schema, sent = object_schema(kind), to_wire(value)

    assert schema_violations(schema, "s") == []
    assert validate(sent, parse(schema)) == []
    assert prune({"spec": sent}, parse({"type": "object", "properties": {"spec": schema}})) == []
    assert from_wire(kind, sent) == value
