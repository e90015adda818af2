"""Classes of pydantic and msgspec as custom resources, beside dataclasses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import pydantic
import pytest
from pydantic.alias_generators import to_camel

from proreus.client import SchemaError, custom_resource, definition_of
from proreus.client.custom_resources import parse
from proreus.client.typed_schema import schema_of
from proreus.client.typed_values import to_wire


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(alias_generator=to_camel, populate_by_name=True)


class PydanticPort(Model):
    number: int = pydantic.Field(gt=0, le=65535)


class PydanticSpec(Model):
    engine: Literal["postgres", "mysql"]
    max_size: int = 10
    ports: list[PydanticPort] = []
    labels: dict[str, str] = {}
    port_or_name: int | str = 80
    note: str | None = None
    free: Any = None


@custom_resource(group="example.com", version="v1")
class PydanticStore(Model):
    spec: PydanticSpec
    status: dict[str, Any] | None = None


class StructPort(msgspec.Struct, rename="camel"):
    number: int


class StructSpec(msgspec.Struct, rename="camel"):
    engine: Literal["postgres", "mysql"]
    max_size: int = 10
    ports: list[StructPort] = []
    note: str | None = None


@custom_resource(group="example.com", version="v1")
class StructStore(msgspec.Struct):
    spec: StructSpec


@custom_resource(group="example.com", version="v1")
@dataclass
class MixedStore:
    spec: PydanticSpec
    other: StructSpec | None = None


OBJECT = {
    "apiVersion": "example.com/v1",
    "kind": "Store",
    "metadata": {"name": "s"},
    "spec": {"engine": "mysql", "maxSize": 3, "ports": [{"number": 80}]},
}


@pytest.mark.parametrize("cls", [PydanticStore, StructStore, MixedStore])
def test_an_object_becomes_a_value_and_its_json_again(cls: Any) -> None:
    value = parse(cls, OBJECT)

    assert (value.spec.max_size, value.spec.ports[0].number) == (3, 80)
    assert to_wire(value)["spec"].items() >= OBJECT["spec"].items()  # type: ignore[attr-defined]
    assert "note" not in to_wire(value)["spec"]


@pytest.mark.parametrize("cls", [PydanticStore, StructStore, MixedStore])
def test_the_schema_is_structural(cls: Any) -> None:
    spec = definition_of(cls).schema["properties"]["spec"]

    assert spec["type"] == "object"
    assert spec["required"] == ["engine"]
    assert spec["properties"]["engine"]["enum"] == ["mysql", "postgres"] or spec["properties"][
        "engine"
    ]["enum"] == ["postgres", "mysql"]
    assert spec["properties"]["maxSize"] == {"type": "integer", "default": 10}
    assert spec["properties"]["note"] == {"type": "string"}
    assert spec["properties"]["ports"]["items"]["properties"]["number"]["type"] == "integer"
    assert not {"$ref", "$defs", "anyOf", "title"} & set(words(definition_of(cls).schema))


def test_limits_and_free_fields_have_kubernetes_words() -> None:
    properties = schema_of(PydanticSpec)["properties"]

    assert properties["ports"]["items"]["properties"]["number"] == {
        "type": "integer",
        "minimum": 0,
        "exclusiveMinimum": True,
        "maximum": 65535,
    }
    assert properties["portOrName"] == {"x-kubernetes-int-or-string": True, "default": 80}
    assert properties["labels"]["additionalProperties"] == {"type": "string"}
    assert properties["free"] == {"x-kubernetes-preserve-unknown-fields": True}


class Tree(pydantic.BaseModel):
    children: list[Tree] = []


class Choice(pydantic.BaseModel):
    one: int | list[str]


@pytest.mark.parametrize(("cls", "why"), [(Tree, "part of itself"), (Choice, "are unions")])
def test_what_has_no_structural_schema_is_refused_when_the_class_is_made(
    cls: type[Any], why: str
) -> None:
    with pytest.raises(SchemaError, match=why):
        custom_resource(group="example.com", version="v1")(cls)


def words(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        inner = [word for value in schema.values() for word in words(value)]
        return [*schema, *inner]
    return [word for item in schema for word in words(item)] if isinstance(schema, list) else []
