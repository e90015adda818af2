from __future__ import annotations

from proreus.api.patch.written_order import in_written_order
from proreus.api.wire import json


def text(value: object) -> str:
    return json.encode(value).decode()


def test_what_a_patch_reached_has_sorted_keys() -> None:
    untouched = {"z": 1, "a": 2}
    live = {"spec": {"old": untouched}}
    patched = {"spec": {"old": untouched, "new": {"z": [{"y": 1, "x": 2}], "b": 1}}, "kind": "K"}

    written = in_written_order(patched, live)

    assert text(written) == (
        '{"kind":"K","spec":{"new":{"b":1,"z":[{"x":2,"y":1}]},"old":{"z":1,"a":2}}}'
    )


def test_values_of_operations_stay_as_they_were_given() -> None:
    value = {"z": 1, "a": 2}

    written = in_written_order({"b": value, "a": 1}, {}, {id(value)})

    assert text(written) == '{"a":1,"b":{"z":1,"a":2}}'
