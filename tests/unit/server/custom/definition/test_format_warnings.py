"""Formats in schemas that say nothing."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.server.custom.definition.rules import DEFINITION
from tests.unit.server.custom.definition.given import definition, field


@pytest.mark.parametrize(
    ("schema", "forms"),
    [
        ({"type": "string", "format": "date"}, []),
        ({"type": "string", "format": "date-time"}, []),
        ({"type": "string", "format": "int32"}, ["int32"]),
        ({"type": "integer", "format": "int32"}, []),
        ({"type": "integer", "format": "float"}, ["float"]),
        ({"type": "number", "format": "double"}, []),
        ({"type": "object", "format": "uuid"}, ["uuid"]),
        ({"x-kubernetes-int-or-string": True, "format": "ipv4"}, []),
        ({"type": "string", "anyOf": [{"format": "odd"}]}, ["odd"]),
    ],
)
def test_formats_that_say_nothing_of_their_type_are_warned_of(
    schema: dict[str, Any], forms: list[str]
) -> None:
    made = definition(field(schema))

    assert DEFINITION.warnings(made) == [f'unrecognized format "{form}"' for form in forms]


def test_an_update_is_warned_of_formats_that_are_new() -> None:
    old = definition(field({"type": "string", "format": "odd"}))
    more = {"a": {"type": "string", "format": "odd"}, "b": {"type": "string", "format": "odder"}}
    new = definition({"type": "object", "properties": more})

    assert DEFINITION.warnings_on_update is not None
    assert DEFINITION.warnings_on_update(new, old) == ['unrecognized format "odder"']
    assert DEFINITION.warnings_on_update(old, old) == []
