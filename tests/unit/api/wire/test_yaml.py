from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.wire import yaml
from proreus.api.wire.yaml import YamlError

TEXT = st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(
    [
        "yes",
        "no",
        "1e3",
        "0x1",
        "~",
        "null",
        "12:30",
        "2020-01-01",
        "=",
        "<<",
        "- a",
        "a: b",
        " x",
        ".5",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=15,
)


def decode(body: bytes) -> Any:
    return yaml.decode_strict(body)[0]


def test_plain_scalars_are_yaml_1_1_with_go_numbers() -> None:
    body = (
        b"{a: y, b: on, c: no, d: 010, e: 1_000, f: 0x10, g: ~, h: 2020-01-02, i: 1e3, j: 'y',"
        b" k: .5, l: 12:30, m: !!str 5, o: !!binary QQ==, p: =, q: -0b11, r: 1.0, s: 0o17, t: 09}"
    )

    assert decode(body) == {
        "a": True, "b": True, "c": False, "d": 8, "e": 1000, "f": 16, "g": None,
        "h": "2020-01-02", "i": 1000, "j": "y", "k": 0.5, "l": "12:30", "m": "5", "o": "A",
        "p": "=", "q": -3, "r": 1, "s": 15, "t": 9,
    }  # fmt: skip


def test_keys_become_strings() -> None:
    assert decode(b"{y: 1, off: 2, 10: 3, 1.5: 4, 'n': 5}") == {
        "true": 1,
        "false": 2,
        "10": 3,
        "1.5": 4,
        "n": 5,
    }


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"", None),
        (b"# nothing", None),
        (b"just text", "just text"),
        (b"---\na: 1\n---\nb: 2\n", {"a": 1}),
        (b'{"metadata": {"name": "b"}, }', {"metadata": {"name": "b"}}),
        (b"x: &x {k: v}\nz: {<<: *x, j: w}", {"x": {"k": "v"}, "z": {"k": "v", "j": "w"}}),
        (b"x: &x {k: v}\nz: {k: own, <<: [*x, {k: z, l: z}]}",
         {"x": {"k": "v"}, "z": {"l": "z", "k": "own"}}),
        (b"x: &v '5'\nz: *v", {"x": "5", "z": "5"}),
        (b"'<<': 1", {"<<": 1}),
    ],
)  # fmt: skip
def test_documents(body: bytes, value: Any) -> None:
    assert decode(body) == value


def test_keys_given_twice_are_named_with_their_line_and_the_last_wins() -> None:
    body = textwrap.dedent("""\
        metadata: {name: a}
        data:
          x: '1'
          x: '2'
          "y": 3
          y: 4
          true: 5
        """).encode()

    value, duplicates = yaml.decode_strict(body)

    assert value["data"] == {"x": "2", "y": 3, "true": 5}
    assert duplicates == (
        'line 4: key "x" already set in map',
        'line 7: key "true" already set in map',
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"metadata: [\n", "yaml: line 1: did not find expected node content"),
        (b"a: b: c\n", "yaml: mapping values are not allowed in this context"),
        (b"x: 1\na: b: c\n", "yaml: line 2: mapping values are not allowed in this context"),
        (b'a: "\xff"', "yaml: invalid leading UTF-8 octet"),
        (b"a: &a [*a]", "yaml: anchor 'a' value contains itself"),
        (b"a: *b", "yaml: unknown anchor 'b' referenced"),
        (b"[1, a, ~]: 2", 'yaml: invalid map key: []interface {}{1, "a", interface {}(nil)}'),
        (
            b"? {a: [b]}\n: 2",
            'yaml: invalid map key: map[interface {}]interface {}{"a":[]interface {}{"b"}}',
        ),
        (b"? &a [b]\n: 2", 'yaml: invalid map key: []interface {}{"b"}'),
        (b"x: &a [b]\n*a : 2", 'yaml: invalid map key: []interface {}{"b"}'),
        (b"? ~\n: 2", "unsupported map key of type: %!s(<nil>), key: <nil>, value: 2"),
        (b"? ~\n: ~", "unsupported map key of type: %!s(<nil>), key: <nil>, value: <nil>"),
        (b"a: !!int x", "yaml: cannot decode !!str `x` as a !!int"),
        (b"a: !!int 5.5", "yaml: cannot decode !!float `5.5` as a !!int"),
        (b"a: !!bool 5", "yaml: cannot decode !!int `5` as a !!bool"),
        (b"a: !!float 1e400", "yaml: cannot decode !!str `1e400` as a !!float"),
        (b"a: !!null x", "yaml: cannot decode !!str `x` as a !!null"),
        (b"a: !!timestamp noon", "yaml: cannot decode !!str `noon` as a !!timestamp"),
        (b"? !!int x\n: y", "yaml: cannot decode !!str `x` as a !!int"),
        (b"<<: 5", "yaml: map merge requires map or sequence of maps as the value"),
        (b"a: !!binary '***'", "yaml: !!binary value contains invalid base64 data"),
        (b"a: .nan", "json: unsupported value: NaN"),
        (b"a: -.inf", "json: unsupported value: -Inf"),
        # of several: syntax, what cannot be read, null keys, what JSON cannot say
        (b"[x]: 1\na: b: c", "yaml: line 2: mapping values are not allowed in this context"),
        (b"a: .nan\n[x]: 1", 'yaml: invalid map key: []interface {}{"x"}'),
        (b"a: .nan\n~: 1", "unsupported map key of type: %!s(<nil>), key: <nil>, value: 1"),
        (b"z: .nan\na: .inf", "json: unsupported value: +Inf"),
        (
            b"~: 9223372036854775808",
            "unsupported map key of type: %!s(<nil>), key: <nil>, value: 0x8000000000000000",
        ),
    ],
)
def test_faults(body: bytes, message: str) -> None:
    with pytest.raises(YamlError) as caught:
        decode(body)

    assert str(caught.value) == message


@pytest.mark.parametrize("body", [b"[" * 100_000, b"- " * 100_000, b"{a: " * 100_000])
def test_deep_documents_are_refused_not_crashed_on(body: bytes) -> None:
    with pytest.raises(YamlError, match="exceeded max depth"):
        decode(body)


def test_aliases_that_multiply_are_refused() -> None:
    levels = [b"a0: &a0 [1,1,1,1,1,1,1,1,1,1]"]
    for level in range(1, 9):
        uses = b",".join(b"*a%d" % (level - 1) for _ in range(10))
        levels.append(b"a%d: &a%d [%b]" % (level, level, uses))

    with pytest.raises(YamlError, match="excessive aliasing"):
        decode(b"\n".join(levels))


@given(JSON)
def test_what_is_written_is_read_back(value: Any) -> None:
    assert decode(yaml.encode(value)) == value


def test_answers_look_as_the_server_writes_them() -> None:
    value = {
        "kind": "Status",
        "message": "only the following media types are accepted: application/json;stream=watch, "
        "application/vnd.kubernetes.protobuf;stream=watch",
        "data": {
            "colon": "a: b", "date": "2020-01-01", "empty": "", "hash": "# x", "lead": " x",
            "multi": "a\nb\n", "no": "no", "nul": "null", "num": "5", "tab": "a\tb", "uni": "é☃",
            "cut": "a: b\nc",
        },
        "items": [],
        "metadata": {},
        "list": [{"b": 1, "a": True}, "25%"],
    }  # fmt: skip

    assert yaml.encode(value).decode() == textwrap.dedent("""\
        data:
          colon: 'a: b'
          cut: |-
            a: b
            c
          date: "2020-01-01"
          empty: ""
          hash: '# x'
          lead: ' x'
          multi: |
            a
            b
          "no": "no"
          nul: "null"
          num: "5"
          tab: "a\\tb"
          uni: é☃
        items: []
        kind: Status
        list:
        - a: true
          b: 1
        - 25%
        message: 'only the following media types are accepted: application/json;stream=watch,
          application/vnd.kubernetes.protobuf;stream=watch'
        metadata: {}
        """)


_TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["<<", "=", "yes", "null", "~", "0755", "1e3", "12:30", "2001-01-01", "a: b",
                     "- a", "# c", "&a", "*a", "!t", "%x", "@", "? ", "| ", "> ", "{", "\x7f"]),
)  # fmt: skip
_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**64), st.floats(0, 9), _TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(_TEXTS, inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.dictionaries(_TEXTS, _VALUES, max_size=4), st.sampled_from([None, 1]), st.booleans())
def test_json_means_the_same_whichever_way_it_is_read(
    value: Any, indent: int | None, is_ascii: bool
) -> None:
    body = json.dumps(value, indent=indent, ensure_ascii=is_ascii).encode()

    # The comment makes it a document that only a reader of YAML understands.
    assert repr(_read(body)) == repr(_read(b"# \n" + body))


def _read(body: bytes) -> Any:
    try:
        return yaml.decode_strict(body)
    except YamlError as error:
        return str(error).partition(" line")[0].partition("yaml:")[0]


def test_keys_given_twice_are_named_in_json_too() -> None:
    assert yaml.decode_strict(b'{"a":1,"a":2}')[1] == ('line 1: key "a" already set in map',)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e400", "1e400"),
        ("-1e400", "-1e400"),
        ("!!float 5", 5),
        ("!!float '1.5'", 1.5),
        ("!!int '5'", 5),
        ("!!bool yes", True),
        ("!!null ''", None),
        ("!!timestamp 2020-01-01", "2020-01-01"),
        ("!!map x", "x"),
        ("!local x", "x"),
    ],
)
def test_a_tagged_scalar_that_fits_its_tag_is_read(text: str, value: object) -> None:
    assert decode(f"a: {text}".encode()) == {"a": value}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e21, "1e+21"),
        (-1e20, "-1e+20"),
        (1e-7, "1e-07"),
        (1234567.5, "1.2345675e+06"),
        (123456.789, "123456.789"),
        (0.0001, "0.0001"),
        (-1.5, "-1.5"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (2.0, "2"),
    ],
)
def test_fractions_are_written_as_go_writes_them(value: float, text: str) -> None:
    assert yaml.encode({"a": value}) == f"a: {text}\n".encode()
    assert decode(yaml.encode({"a": value})) == {"a": value}
