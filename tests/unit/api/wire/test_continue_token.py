"""Continue tokens (server.md §2.7)."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.wire.continue_token import ContinueError, ContinueToken


def token(**fields: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).rstrip(b"=").decode()


@given(
    revision=st.integers(1, 2**62),
    start=st.text("abc019-.", min_size=1, max_size=20).filter(lambda s: s.strip(".") != ""),
)
def test_a_token_comes_back_as_it_was(revision: int, start: str) -> None:
    made = ContinueToken(revision, f"ns/{start}\0")

    assert ContinueToken.decode(made.encode()) == made


def test_the_names_of_its_fields_are_read_in_any_case() -> None:
    assert ContinueToken.decode(token(V="meta.k8s.io/v1", Rv=7, START="a")) == ContinueToken(7, "a")


def test_unpinned_goes_on_at_the_same_key_in_the_newest_state() -> None:
    again = ContinueToken(7, "a\0").unpinned()

    assert (again.is_pinned, again.start) == (False, "a\0")


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("abc", "invalid character 'i' looking for beginning of value"),
        ("!", "illegal base64 data at input byte 0"),
        ("a", "illegal base64 data at input byte 0"),
        ("abcde", "illegal base64 data at input byte 4"),
        ("ab/+", "illegal base64 data at input byte 2"),
        ("YQ==", "illegal base64 data at input byte 2"),
        (token(v="meta.k8s.io/v2", rv=1, start="a"), "encoded version meta.k8s.io/v2"),
        (token(v="meta.k8s.io/v1", rv=0, start="a"), "incorrect encoded start resourceVersion"),
        (token(v="meta.k8s.io/v1", rv=1, start=""), "encoded start key empty"),
        (token(v="meta.k8s.io/v1", rv="1", start="a"), "cannot unmarshal string"),
        (token(v="meta.k8s.io/v1", rv=-1, start="../b"), "continue key is not valid: ../b"),
        (token(v="meta.k8s.io/v1", rv=-1, start="a//b"), "continue key is not valid: a//b"),
        (token(v="meta.k8s.io/v1", rv=-1, start="/a/"), "continue key is not valid: /a/"),
    ],
)
def test_a_bad_token_is_reported_in_kubernetes_words(bad: str, why: str) -> None:
    with pytest.raises(ContinueError, match="continue key is not valid") as truncated:
        ContinueToken.decode(bad)

    assert why in str(truncated.value)


@given(st.text(max_size=40))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    try:
        ContinueToken.decode(text)
    except ContinueError:
        return


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[" * 5_000, "unexpected end of JSON input"),
        (b"[" * 20_000, "invalid character '[' exceeded max depth"),
        (
            b'{"rv":99999999999999999999}',
            "json: cannot unmarshal number 1e+20 into Go struct field continueToken.rv of type "
            "int64",
        ),
        (b'{"v":"meta.k8s.io/v1",}', "invalid character '}' looking for beginning of object key "
                                     "string"),
    ],
)  # fmt: skip
def test_a_token_that_is_no_json_is_reported_as_go_does(body: bytes, message: str) -> None:
    with pytest.raises(ContinueError) as caught:
        ContinueToken.decode(base64.urlsafe_b64encode(body).rstrip(b"=").decode())

    assert str(caught.value) == f"continue key is not valid: {message}"
