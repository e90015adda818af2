"""Pruning, defaults and validation by a schema."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.group_version import GroupKind
from proreus.api.wire import json
from proreus.server.custom.schema.default import default
from proreus.server.custom.schema.embedded_rules import embedded_violations
from proreus.server.custom.schema.list_rules import list_violations
from proreus.server.custom.schema.prune import prune, with_plain_numbers
from proreus.server.custom.schema.structural import parse
from proreus.server.custom.schema.validate import validate_object
from proreus.server.custom.serving.object_rules import Decode
from proreus.server.custom.serving.scale import ScalePaths
from proreus.server.schema.check import DecodeError

Schema = dict[str, Any]


def spec_of(**properties: Schema) -> Schema:
    spec = {"type": "object", "properties": properties}
    return {"type": "object", "properties": {"spec": spec}}


def messages(schema: Schema, spec: Any, old: Any = None) -> list[str]:
    parsed = parse(schema)
    former = {} if old is None else {"old": {"spec": old}}
    return [str(error) for error in validate_object({"spec": spec}, parsed, *former.values())]


def test_unknown_fields_go_and_are_named_in_order() -> None:
    schema = parse(spec_of(known={"type": "string"}, free={
        "type": "object", "x-kubernetes-preserve-unknown-fields": True}))  # fmt: skip
    obj = {"spec": {"x": 1, "known": "k", "free": {"any": [1]}}, "extra": 1, "kind": "T"}

    gone = prune(obj, schema)

    assert gone == ["extra", "spec.x"]
    assert obj == {"spec": {"known": "k", "free": {"any": [1]}}, "kind": "T"}


def test_defaults_reach_inside_of_defaults() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}
    obj: dict[str, Any] = {"spec": {"gone": None, "kept": None}}
    schema = parse(
        spec_of(
            deep={**inner, "default": {}},
            gone={"type": "string"},
            kept={"type": "string", "nullable": True},
        )
    )

    default(obj, schema)

    assert obj == {"spec": {"deep": {"a": 1}, "kept": None}}


def test_whole_numbers_lose_their_fraction() -> None:
    assert with_plain_numbers({"a": [2.0, 0.5, 1e21]}) == {"a": [2, 0.5, 1e21]}


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (1e18, 10**18),
        (1e19, 10**19),
        (1e20, 1e20),
        (-1e19, -1e19),
        (2**63 - 1, 2**63 - 1),
        (12345678901234567890, 12345678901234567000),
        (1.2345678901234567e18, 1234567890123456800),
    ],
)
def test_numbers_that_fit_no_64_bits_are_stored_with_the_digits_of_a_float(
    given: float, stored: float
) -> None:
    found = with_plain_numbers({"a": given})

    assert found == {"a": stored}
    assert json.decode(json.encode(found)) == found


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": "integer"}, "x", 'must be of type integer: "string"'),
        ({"type": "string", "minLength": 2}, "a", "should be at least 2 chars long"),
        ({"type": "string", "maxLength": 2}, "abc", "Too long: may not be more than 2 bytes"),
        ({"type": "string", "pattern": "^x"}, "abc", "should match '^x'"),
        ({"type": "string", "enum": ["a"]}, "b", 'supported values: "a"'),
        ({"type": "integer", "multipleOf": 3}, 4, "should be a multiple of 3"),
        ({"type": "number", "maximum": 1, "exclusiveMaximum": True}, 1, "should be less than 1"),
        ({"type": "string", "format": "ipv4"}, "x", 'must be of type ipv4: "x"'),
        ({"type": "integer", "format": "int32"}, 2**31, "with format int32 in spec.f"),
        ({"x-kubernetes-int-or-string": True}, 1.5, "must be of type integer,string"),
        ({"type": "string", "anyOf": [{"enum": ["a"]}, {"enum": ["b"]}]}, "c", "(anyOf)"),
        ({"type": "string", "oneOf": [{"minLength": 1}, {"maxLength": 3}]}, "c", "(oneOf)"),
        ({"type": "string", "not": {"enum": ["c"]}}, "c", "must not validate the schema (not)"),
    ],
)
def test_a_violation_is_worded_as_in_kubernetes(schema: Schema, value: Any, message: str) -> None:
    found = messages(spec_of(f=schema), {"f": value})

    assert found
    assert message in found[0]


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", ["2026-01-31", "2024-02-29"],
         ["2026-W01-1", "2026-02-29", "20260131", "2026-1-31", "٢٠٢٦-01-01", "2026-01-31T"]),
        ("date-time", ["2026-01-31T23:59:59Z", "2026-01-31t00:00:00.5+01:00"],
         ["2026-01-31T24:00:00Z", "2026-01-31T23:60:00Z", "2026-02-30T00:00:00Z", "2026-01-31",
          "2026-01-31T00:00:00", "2026-01-31 00:00:00Z"]),
        ("duration", ["1h30m", "0", "3 ms", "1 day", "2w", "about 2 hours"], ["x", "1", "", "h"]),
        ("email", ["a@b", "A B <a@b.c>", '"a b"@c'], ["x", "a@b@c", "a b@c", "<a@b", "a@"]),
        ("hostname", ["a", "1.2.de", "é.com", "a-b.cd"],
         ["a.b", "a.", ".a", "-a", "a_b", "1.2.3.4", "a" * 64]),
        ("ipv4", ["1.2.3.4", "::ffff:1.2.3.4"], ["1.2.3", "::1", "01.2.3.4"]),
        ("ipv6", ["::1", "::ffff:1.2.3.4"], ["1.2.3.4", "fe80::1%eth0"]),
        ("cidr", ["1.2.3.0/24", "::/0"], ["1.2.3.4", "1.2.3.0/255.255.255.0", "1.2.3.4/33"]),
        ("uri", ["http://a", "/a", "a:b"], ["x", "", "http://a b", "http://a/%zz"]),
        ("byte", ["YQ=="], ["", "YQ", "a b="]),
        ("ssn", ["111-11-1111", "111 11 1111"], ["111111111"]),
        ("rgbcolor", ["rgb(1, 20,255)"], ["rgb(01,2,3)", "rgb(256,1,1)"]),
        ("creditcard", ["4111-1111-1111-1111"], ["4111111111111112", "0000000000000000"]),
        ("mac", ["01:23:45:67:89:ab", "0123.4567.89ab"], ["01:23", "01:23-45:67:89:ab"]),
        ("uuid-4", ["123e4567-e89b-42d3-a456-426614174000"],
         ["123e4567-e89b-12d3-a456-426614174000"]),
        ("unheard-of", ["x", ""], []),
    ],
)  # fmt: skip
def test_texts_are_of_their_format(name: str, good: list[str], bad: list[str]) -> None:
    def is_refused(text: str) -> bool:
        return bool(messages(spec_of(f={"type": "string", "format": name}), {"f": text}))

    assert not [text for text in good if is_refused(text)]
    assert not [text for text in bad if not is_refused(text)]


def test_what_was_invalid_before_may_stay() -> None:
    schema = spec_of(a={"type": "string", "maxLength": 3}, b={"type": "string"})

    assert messages(schema, {"a": "too long", "b": "new"}, {"a": "too long", "b": "old"}) == []
    assert messages(schema, {"a": "longer still"}, {"a": "too long"}) != []


def test_items_of_a_map_list_are_compared_by_key() -> None:
    item = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "port": {"type": "integer", "maximum": 9}},
    }
    schema = spec_of(l={
        "type": "array", "items": item, "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"]})  # fmt: skip
    old = {"l": [{"name": "a", "port": 99}]}

    assert messages(schema, {"l": [{"name": "b", "port": 1}, {"name": "a", "port": 99}]}, old) == []
    found = messages(schema, {"l": [{"name": "a", "port": 98}]}, old)
    assert "spec.l[0].port" in found[0]


def test_a_list_that_keeps_everything_keeps_what_its_items_do_not_declare() -> None:
    item = {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}
    kept = {"type": "array", "items": item, "x-kubernetes-preserve-unknown-fields": True}
    obj = {"spec": {"l": [{"a": {"x": 1}, "b": {"y": 1}}]}}

    assert prune(obj, parse(spec_of(l=kept))) == ["spec.l[0].a.x"]
    assert obj == {"spec": {"l": [{"a": {}, "b": {"y": 1}}]}}


def test_a_map_of_anything_keeps_its_keys_and_nothing_below_them() -> None:
    obj = {"spec": {"m": {"a": 1, "b": {"c": 2}}}}

    assert prune(obj, parse(spec_of(m={"type": "object", "additionalProperties": True})))
    assert obj == {"spec": {"m": {"a": 1, "b": {}}}}


def test_null_gives_way_in_maps_and_in_fields_of_any_type() -> None:
    values = {"type": "string", "default": "x"}
    schema = spec_of(
        m={"type": "object", "additionalProperties": values},
        free={"x-kubernetes-preserve-unknown-fields": True},
    )
    obj: dict[str, Any] = {"spec": {"m": {"a": None}, "free": None}}

    default(obj, parse(schema))

    assert obj == {"spec": {"m": {"a": "x"}}}


def test_metadata_of_what_is_embedded_has_defaults() -> None:
    label = {"type": "object", "properties": {"a": {"type": "string", "default": "b"}}}
    meta = {"type": "object", "properties": {"labels": label}}
    inner = {"type": "object", "x-kubernetes-embedded-resource": True,
             "properties": {"metadata": meta}}  # fmt: skip
    obj: dict[str, Any] = {"spec": {"t": {"metadata": {"labels": {}}}}}

    default(obj, parse(spec_of(t=inner)))

    assert obj["spec"]["t"]["metadata"]["labels"] == {"a": "b"}


EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True}  # fmt: skip


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"kind": "Pod"}, "spec.t.apiVersion: Required value"),
        ({"apiVersion": "v1", "kind": ""}, "spec.t.kind: Required value"),
        ({"apiVersion": 1, "kind": "Pod"}, "spec.t.apiVersion: Invalid value: 1: must be a string"),
        ({"apiVersion": "v1", "kind": "P_d"}, 'spec.t.kind: Invalid value: "P_d": may have mixed '
         "case, but should otherwise match: a DNS-1035 label must consist"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a/b"}},
         "spec.t.metadata.name: Invalid value: \"a/b\": may not contain '/'"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a b": ""}}},
         'spec.t.metadata.labels: Invalid value: "a b": name part must consist'),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "a%"}},
         "spec.t.metadata.generateName: Invalid value: \"a%\": may not contain '%'"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"finalizers": ["a b"]}},
         'spec.t.metadata.finalizers: Invalid value: "a b": name part must consist'),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": "a"}]}},
         'spec.t.metadata.ownerReferences.uid: Invalid value: "": must not be empty'),
    ],
)  # fmt: skip
def test_what_is_embedded_has_a_type_and_good_metadata(value: Any, message: str) -> None:
    found = embedded_violations({"spec": {"t": value}}, parse(spec_of(t=EMBEDDED)))

    assert len(found) == 1
    assert str(found[0]).startswith(message)


def test_an_item_that_is_there_thrice_is_reported_once_where_it_comes_again() -> None:
    schema = parse(spec_of(
        s={"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"},
        m={"type": "object", "additionalProperties": {
            "type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k", "p"]}},
    ))  # fmt: skip
    twice = [{"k": 1, "p": 2, "v": 1}, {"p": 2, "k": 1}, {"k": 1}]

    found = list_violations({"spec": {"s": [1, 2, 1, 1], "m": {"x": twice}}}, schema)

    assert [str(error) for error in found] == [
        'spec.m[x][1]: Duplicate value: {"k":1,"p":2}',
        "spec.s[2]: Duplicate value: 1",
    ]


def test_a_large_set_is_validated_in_the_time_it_takes_to_read_it() -> None:
    items = {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"}

    # A pair of every two would be five billion.
    assert list_violations({"spec": {"s": [{"n": n} for n in range(100_000)]}},
                           parse(spec_of(s=items))) == []  # fmt: skip


@pytest.mark.parametrize(
    ("obj", "messages"),
    [
        ({"spec": {"n": 3}, "status": {"n": 1, "s": "a=b"}}, []),
        ({}, []),
        ({"spec": {"n": -1}}, [".spec.n: Invalid value: -1: should be a non-negative integer"]),
        ({"status": {"n": 2**31}},
         [".status.n: Invalid value: 2147483648: should be less than or equal to 2147483647"]),
        ({"spec": {"n": "x"}},
         [".spec.n: Invalid value: 0: .spec.n accessor error: x is of the type string, expected "
          "int64"]),
        ({"spec": None}, []),
        ({"spec": {"n": None}},
         [".spec.n: Invalid value: 0: .spec.n accessor error: <nil> is of the type <nil>, expected "
          "int64"]),
        ({"spec": [1]},
         [".spec.n: Invalid value: 0: .spec.n accessor error: [1] is of the type []interface {}, "
          "expected map[string]interface{}"]),
        ({"status": {"s": 1}},
         [".status.s: Invalid value: \"\": .status.s accessor error: 1 is of the type int64, "
          "expected string"]),
    ],
)  # fmt: skip
def test_numbers_that_scale_shows_are_numbers(obj: dict[str, Any], messages: list[str]) -> None:
    scale = ScalePaths(GroupKind("example.com", "T"), ".spec.n", ".status.n", ".status.s")

    assert [str(error) for error in scale.violations(obj)] == messages


def test_an_item_of_a_plain_list_may_stay_wrong_at_its_place() -> None:
    item = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}}
    plain = {"type": "array", "items": item}
    old = {"l": [{"n": 99}, {"n": 1}]}

    assert messages(spec_of(l=plain), {"l": [{"n": 99}, {"n": 2}]}, old) == []
    assert messages(spec_of(l=plain), {"l": [{"n": 1}, {"n": 99}]}, old) != []
    atomic = {**plain, "x-kubernetes-list-type": "atomic"}
    assert messages(spec_of(l=atomic), {"l": [{"n": 99}, {"n": 2}]}, old) != []


def test_what_the_root_requires_is_asked_of_every_change() -> None:
    schema = parse({**spec_of(a={"type": "string"}), "required": ["spec"]})
    old = {"metadata": {"name": "a"}}

    assert validate_object(old, schema, old) == []
    labelled = {"metadata": {"name": "a", "labels": {"x": "y"}}}
    assert [error.field for error in validate_object(labelled, schema, old)] == ["spec"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"apiVersion": 1}, "spec.t.apiVersion: Invalid value: 1: must be a string"),
        ({"kind": None}, "spec.t.kind: Invalid value: null: must be a string"),
        ({"metadata": 1}, "spec.t.metadata: Invalid value: 1: json: cannot unmarshal number"),
    ],
)
def test_a_type_that_is_no_text_is_not_read_at_all(given: dict[str, Any], message: str) -> None:
    decode = Decode(GroupKind("g", "K"), {"v1": parse(spec_of(t=EMBEDDED))})

    with pytest.raises(DecodeError) as refused:
        decode({"apiVersion": "g/v1", "kind": "K", "metadata": {}, "spec": {"t": given}})

    assert str(refused.value).startswith(message)


def test_metadata_that_is_null_is_empty_in_what_is_embedded() -> None:
    decode = Decode(GroupKind("g", "K"), {"v1": parse(spec_of(t=EMBEDDED))})

    read, _ = decode({"apiVersion": "g/v1", "kind": "K", "spec": {"t": {"metadata": None}}})

    assert read["spec"] == {"t": {"metadata": {}}}


def test_a_schema_may_restrict_the_type_and_metadata_of_what_is_embedded() -> None:
    name = {"type": "object", "properties": {"name": {"type": "string", "pattern": "^p"}}}
    fields = {"kind": {"type": "string", "enum": ["Pod"]}, "metadata": name}
    given = {"apiVersion": "v1", "kind": "Job", "metadata": {"name": "q"}}

    found = messages(spec_of(t={**EMBEDDED, "properties": fields}), {"t": given})

    assert found == [
        'spec.t.kind: Unsupported value: "Job": supported values: "Pod"',
        'spec.t.metadata.name: Invalid value: "q": spec.t.metadata.name in body should match '
        "'^p'",
    ]


def test_a_schema_may_restrict_the_type_of_the_object() -> None:
    schema = parse({"type": "object", "properties": {"kind": {"type": "string", "minLength": 9}}})

    found = validate_object({"apiVersion": "g/v1", "kind": "Widget"}, schema)

    assert [error.field for error in found] == ["kind"]


def test_a_long_text_is_no_duration_and_is_read_once() -> None:
    """Were it read anew from each of its digits, this would take minutes."""
    duration = {"type": "string", "format": "duration"}

    assert messages(spec_of(f=duration), {"f": "1" * 200_000})


def test_metadata_that_is_empty_is_not_there() -> None:
    decode = Decode(GroupKind("g", "K"), {"v1": parse(spec_of())})
    meta = {"name": "a", "labels": {}, "managedFields": [], "deletionGracePeriodSeconds": 0}

    read, _ = decode({"apiVersion": "g/v1", "kind": "K", "metadata": meta})

    assert read["metadata"] == {"name": "a", "deletionGracePeriodSeconds": 0}


def test_metadata_of_the_wrong_type_is_refused_before_unknown_fields() -> None:
    decode = Decode(GroupKind("g", "K"), {"v1": parse(spec_of())})
    typed = {"apiVersion": "g/v1", "kind": "K"}

    with pytest.raises(DecodeError) as refused:
        decode({**typed, "metadata": {"name": 1}, "spec": {"x": 1}})
    _, unknown = decode({**typed, "metadata": {"x": 1}, "spec": {"a": 1}, "more": 1})

    assert str(refused.value) == (
        "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"
    )
    assert unknown == ["metadata.x", "more", "spec.a"]
