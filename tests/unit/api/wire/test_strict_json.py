from __future__ import annotations

import json as slow_json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.field_error import FAULTS_MAX
from proreus.api.wire import json, json_syntax, strict_json
from proreus.api.wire.json_reader import holds_too_deep
from proreus.api.wire.strict_json import JsonError, JsonTooDeep, decode_deep, decode_strict
from tests.growth import grows_with_its_square

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(JSON, st.sampled_from([None, 1]))
def test_documents_without_duplicates_are_read_as_they_are(value: Any, indent: int | None) -> None:
    text = slow_json.dumps(value, indent=indent, ensure_ascii=indent is None).encode()

    assert decode_strict(text) == (value, ())


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8"), min_size=1),
        st.integers(-(2**63), 2**64 - 1),
        min_size=1,
    )
)
def test_a_key_given_twice_is_named_whatever_it_contains(value: dict[str, int]) -> None:
    key = next(iter(value))
    text = json.encode(value)
    doubled = text[:-1] + b"," + json.encode(key) + b":7}"

    assert decode_strict(doubled) == (value | {key: 7}, (key,))


def test_paths_of_duplicates_stand_in_document_order() -> None:
    body = b'{"metadata":{"name":"a","name":"b"},"data":{"x":"1","x":"2"},"data":{"y":"3"}}'

    value, duplicates = decode_strict(body)

    assert value == {"metadata": {"name": "b"}, "data": {"x": "2", "y": "3"}}
    assert duplicates == ("metadata.name", "data.x", "data")


def test_objects_under_one_key_merge_only_where_go_decodes_into_a_type() -> None:
    body = b'{"spec":{"a":{"x":1}},"spec":{"a":{"y":2},"b":[1]}}'

    assert decode_strict(body)[0] == {"spec": {"a": {"x": 1, "y": 2}, "b": [1]}}
    assert decode_strict(body, merge_duplicates=False)[0] == {"spec": {"a": {"y": 2}, "b": [1]}}


def test_duplicates_inside_lists_carry_their_index() -> None:
    assert decode_strict(b'[{"op":"add","value":1,"value" : 2}]') == (
        [{"op": "add", "value": 2}],
        ("[0].value",),
    )


def test_bytes_that_are_no_utf8_become_replacement_characters_one_per_byte() -> None:
    assert decode_strict(b'{"x":"\xff\xfe \xe2\x82"}') == ({"x": "�� ��"}, ())
    assert decode_strict(rb'{"x":"\ud800"}') == ({"x": "�"}, ())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "unexpected end of JSON input"),
        (b"   ", "unexpected end of JSON input"),
        (b"{", "unexpected end of JSON input"),
        (b'{"a":', "unexpected end of JSON input"),
        (b'{"a":"b', "unexpected end of JSON input"),
        (b'{"a":"\\', "invalid character ' ' in string escape code"),
        (b'"\\u00', "invalid character ' ' in \\u hexadecimal character escape"),
        (
            b'{"kind": "ConfigMap",}',
            "invalid character '}' looking for beginning of object key string",
        ),
        (b"metadata:\n  name: a", "invalid character 'm' looking for beginning of value"),
        (b"\xff\xfe{\x00}\x00", "invalid character 'ÿ' looking for beginning of value"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b":2}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b"{} {}", "invalid character '{' after top-level value"),
        (b"nux", "invalid character 'x' in literal null (expecting 'l')"),
        (b"tr", "invalid character ' ' in literal true (expecting 'u')"),
        (b"-x", "invalid character 'x' in numeric literal"),
        (b"-", "invalid character ' ' in numeric literal"),
        (b'{"a":1.', "invalid character ' ' after decimal point in numeric literal"),
        (b"[1e", "invalid character ' ' in exponent of numeric literal"),
        (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
        (b"1e+x", "invalid character 'x' in exponent of numeric literal"),
        (b'"a\nb"', "invalid character '\\n' in string literal"),
        (b'"\x01"', "invalid character '\\x01' in string literal"),
        (b'"\\q"', "invalid character 'q' in string escape code"),
        (b'"\\u00zz"', "invalid character 'z' in \\u hexadecimal character escape"),
        (b"NaN", "invalid character 'N' looking for beginning of value"),
        (b"[" * 10_000, "unexpected end of JSON input"),
        (b"[" * 10_001, "invalid character '[' exceeded max depth"),
        (b"[" * 3_000_000, "invalid character '[' exceeded max depth"),
        (b'{"a":' * 10_001 + b"1" + b"}" * 10_001, "invalid character '{' exceeded max depth"),
    ],
)
def test_faults_are_worded_as_go_words_them(body: bytes, message: str) -> None:
    with pytest.raises(JsonError) as caught:
        decode_strict(body)

    assert str(caught.value) == message


@given(st.binary(max_size=40) | st.text('{}[]",:0e-.tfn\\ u', max_size=20).map(str.encode))
def test_any_bytes_either_decode_or_are_refused(body: bytes) -> None:
    try:
        value = strict_json.decode_strict(body)[0]
    except JsonError as fault:
        assert str(fault)
    else:
        json.encode(value)


def test_deep_documents_with_duplicates_are_refused_not_crashed_on() -> None:
    body = b'{"a":1,"a":' * 1000 + b"1" + b"}" * 1000

    with pytest.raises(JsonError, match="exceeded max depth"):
        decode_strict(body)


@pytest.mark.parametrize("depth", [255, 1_024, 1_025, 10_000])
def test_what_is_deeper_than_values_are_kept_is_refused_or_marked(depth: int) -> None:
    deep = b'{"a":1,"b":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"

    with pytest.raises(JsonTooDeep, match="exceeded max depth"):
        decode_strict(deep)
    read = decode_deep(deep)
    assert read.is_cut and holds_too_deep(read.value)
    del read.value["b"]
    assert read.value == {"a": 1} and not holds_too_deep(read.value)


def test_the_deepest_value_that_is_kept_is_whole() -> None:
    deep = b"[" * 254 + b"]" * 254

    assert not decode_deep(deep).is_cut
    assert json.encode(decode_strict(deep)[0]) == deep


@given(JSON, st.sampled_from([None, 1]))
def test_reading_slowly_gives_the_same(value: Any, indent: int | None) -> None:
    text = slow_json.dumps(value, indent=indent, ensure_ascii=indent is None).encode()

    read = decode_deep(text)

    assert (read.value, read.duplicates, read.is_cut) == (value, (), False)


@pytest.mark.parametrize(
    "body", [b'{"a":1e999}', b'{"a":1,"a":-1e999}', b'{"a":%b}' % (b"9" * 5000)]
)
def test_numbers_too_large_for_a_float_are_refused(body: bytes) -> None:
    with pytest.raises(JsonError, match="cannot unmarshal number"):
        decode_strict(body)


def test_integers_beyond_64_bits_are_floats() -> None:
    assert decode_strict(b'{"a":18446744073709551616}') == ({"a": 1.8446744073709552e19}, ())
    assert decode_strict(b'{"a":1,"a":18446744073709551615}')[0] == {"a": 2**64 - 1}


def test_a_fault_behind_many_deep_values_is_found_in_few_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = 0
    value = json_syntax._value

    def counted(data: bytes, at: int, stack: bytearray, max_depth: int) -> Any:
        nonlocal steps
        steps += 1
        return value(data, at, stack, max_depth)

    monkeypatch.setattr(json_syntax, "_value", counted)
    for deep in (b"[[[1]]]", b'{"a":{"b":[{"c":[1, 2]}]}}', b"[" * 300 + b"]" * 300):
        with pytest.raises(JsonError, match="looking for beginning of value"):
            decode_strict(b"[" + (deep + b",") * 3_000 + b"]")

    assert steps < 100


NESTED = st.recursive(
    st.sampled_from([1, -2.5, "a", '"]}[{\\', True, None]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=3),
)


@given(NESTED, st.integers(0), st.sampled_from(list('[]{},:"1 x')), st.sampled_from([4, 10_000]))
def test_steps_that_pass_over_much_find_the_same_fault(
    value: Any, at: int, wrong: str, depth: int
) -> None:
    text = json.encode(value)
    at %= len(text) + 1
    text = text[:at] + wrong.encode() + text[at:]
    step_by_step = json_syntax.explain(text, max_depth=depth)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(json_syntax, "_LONG", 0)
        assert json_syntax.explain(text, max_depth=depth) == step_by_step


def test_of_very_many_duplicates_the_first_are_named() -> None:
    body = ",".join(f'"{n}":1,"{n}":1' for n in range(2_000))

    _, duplicates = decode_strict(f"{{{body}}}".encode())

    assert duplicates[:3] == ("0", "1", "2")
    assert len(duplicates) == FAULTS_MAX + 1


def test_duplicate_objects_are_merged_in_linear_time() -> None:
    def merge(size: int) -> None:
        large = ",".join(f'"{n}":1' for n in range(size))
        body = f'{{"a":{{{large}}},' + ",".join(['"a":{}'] * size) + "}"
        assert len(decode_strict(body.encode())[0]["a"]) == size

    assert not grows_with_its_square(merge, 500)
