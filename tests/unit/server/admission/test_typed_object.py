"""What a patch may make of an object of a custom kind."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.group_version import GroupKind, GroupVersionKind
from proreus.api.status import InternalError, PlainError
from proreus.api.typed import Shape, TypeNode
from proreus.server.admission.typed_object import typed_object
from proreus.server.custom.schema.structural import parse
from proreus.server.custom.serving.object_rules import Decode

WIDGET = GroupVersionKind("a.b", "v1", "Widget")
SCHEMA = parse({"type": "object", "properties": {"spec": {"type": "string"}}})
NODE = TypeNode(Shape.OBJECT, decode=Decode(GroupKind("a.b", "Widget"), {"v1": SCHEMA}))
OBJECT = {"apiVersion": "a.b/v1", "kind": "Widget", "metadata": {"name": "n"}, "spec": "s"}


def made(**changes: Any) -> Any:
    fields = {**OBJECT, **changes}
    return typed_object({key: value for key, value in fields.items() if value != ""}, WIDGET, NODE)


def test_what_it_has_not_is_dropped_and_so_is_metadata_of_the_wrong_type() -> None:
    metadata = {"name": "n", "labels": {"a": 5}, "annotations": {"b": "c"}, "odd": 1}

    assert made(metadata=metadata, odd=1) == {
        **OBJECT,
        "metadata": {"name": "n", "annotations": {"b": "c"}},
    }


def test_another_version_of_its_group_becomes_the_one_that_was_asked_for() -> None:
    assert made(apiVersion="a.b/v2") == OBJECT


def test_another_kind_is_left_to_validation() -> None:
    assert made(kind="Other")["kind"] == "Other"


@pytest.mark.parametrize(
    ("changes", "error", "why"),
    [
        ({"kind": ""}, InternalError, "Internal error occurred: Object 'Kind' is missing in "
         """'{"apiVersion":"a.b/v1","metadata":{"name":"n"},"spec":"s"}'"""),
        ({"kind": 5}, InternalError, "Internal error occurred: couldn't get version/kind; json "
         "parse error: json: cannot unmarshal number into Go struct field .kind of type string"),
        ({"apiVersion": "c.d/v1"}, PlainError, "c.d/v1, Kind=Widget is unstructured and is not "
         'suitable for converting to "a.b/v1"'),
        ({"apiVersion": ""}, PlainError, "/, Kind=Widget is unstructured and is not suitable for "
         'converting to "a.b/v1"'),
        ({"metadata": 5}, InternalError,
         "Internal error occurred: system metadata was not initialized"),
    ],
)  # fmt: skip
def test_what_is_no_object_of_the_version_is_refused(
    changes: dict[str, Any], error: type[Exception], why: str
) -> None:
    with pytest.raises(error) as refused:
        made(**changes)

    assert str(refused.value) == why
