"""The shape of keys."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from proreus.server.storage import keyspace
from proreus.server.storage.interface import InvalidKey


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("registry/pods/a", "it does not start with a slash"),
        ("/registry/../a", "a segment is '.' or '..'"),
        ("/registry/pods/.", "a segment is '.' or '..'"),
        ("/registry//a", "a segment is empty"),
        ("/registry/pods/", "a segment is empty"),
        ("/registry/a\0", "it contains a NUL character"),
        ("/registry/\udcff", "it is not valid Unicode"),
    ],
)
def test_a_refused_key_says_why(key: str, reason: str) -> None:
    with pytest.raises(InvalidKey) as raised:
        keyspace.check_key(key)

    assert str(raised.value) == f"invalid key {key!r}: {reason}"


def test_a_prefix_ends_with_a_slash() -> None:
    keyspace.check_prefix("/registry/pods/")
    with pytest.raises(InvalidKey, match="does not end with a slash"):
        keyspace.check_prefix("/registry/pods")


def test_resources_have_their_prefix_below_the_root() -> None:
    assert keyspace.resource_prefix("pods") == "/registry/pods/"
    assert keyspace.resource_prefix("services/specs") == "/registry/services/specs/"
    assert keyspace.resource_prefix("example.com/widgets") == "/registry/example.com/widgets/"
    with pytest.raises(InvalidKey):
        keyspace.resource_prefix("../secrets")


@given(st.text(), st.text(min_size=1))
def test_the_end_of_a_prefix_lies_behind_its_keys_and_before_its_sisters(
    rest: str, sister: str
) -> None:
    end = keyspace.end_of("/a/")

    assert "/a/" + rest < end
    assert "/a/" <= keyspace.after("/a/" + rest) < end
    assert not ("/a/" <= "/a0" + sister < end)


@given(st.text())
def test_any_text_is_a_key_or_refused(text: str) -> None:
    try:
        keyspace.check_key(text)
    except InvalidKey:
        return
    segments = text[1:].split("/")
    assert text.startswith("/")
    assert not {"", ".", ".."} & set(segments)
