"""Patterns match as Go's do, and none can hold up the server, with RE2 or without it."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.server.custom import go_regexp
from proreus.server.custom.bounds import of_text
from proreus.server.custom.cel.checker import is_available
from proreus.server.custom.cel.regular_expressions import matches
from proreus.server.custom.go_regexp import is_found, regexp_error, translated
from proreus.server.custom.linear_regexp import LinearPattern, TooLaborious

needs_re2 = pytest.mark.skipif(not is_available(), reason="without the extra cel")
KNOWN = [
    (r"^([a-z]+\.)+[a-z]+$", "a.b.c", True),
    (r"^([a-z]+\.)+[a-z]+$", "a..c", False),
    (r"^a*b*c*d*$", "aabbccdd", True),
    (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "a-b", True),
    (r"^[a-z]+$", "abc\n", False),
    (r"(?m)^b$", "a\nb\nc", True),
    (r"^\d+$", "٣", False),
    (r"^\w+\b", "ab c", True),
    (r"\Ba", "a", False),
    (r"^[[:alpha:]_]{2,3}\z", "a_b", True),
    (r"^[^[:digit:]]+$", "a1", False),
    (r"\x{41}\Q.*\E$", "xA.*", True),
    (r"(?i)^straße|ÄPFEL$", "äpfel", True),
    (r"^(?i:a)b$", "Ab", True),
    (r"^(?i:a)b$", "AB", False),
    (r"^.$", "\n", False),
    (r"(?s)^.$", "\n", True),
    (r"^x{0}y{2}(?:ab|c){1,2}?$", "yyabc", True),
    ("", "", True),
]


@needs_re2
@pytest.mark.parametrize(("pattern", "text", "is_there"), KNOWN)
def test_patterns_match_as_in_go(pattern: str, text: str, is_there: bool) -> None:
    assert regexp_error(pattern) == ""
    assert is_found(pattern, text) is is_there


@pytest.mark.parametrize(("pattern", "text", "is_there"), KNOWN)
def test_they_match_the_same_without_re2(
    monkeypatch: pytest.MonkeyPatch, pattern: str, text: str, is_there: bool
) -> None:
    monkeypatch.setattr(go_regexp, "is_available", lambda: False)

    assert regexp_error(pattern) == ""
    assert is_found(pattern, text) is is_there
    assert LinearPattern(translated(pattern)).is_found(text) is is_there


ATOMS = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", r"\d", r"\w", "(a|b)", "(?:ab|)"])
REPEATS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}", "{1,}", "*?"])
PARTS = st.one_of(st.builds("{}{}".format, ATOMS, REPEATS), st.sampled_from(["^", "$", r"\b"]))
PATTERNS = st.recursive(
    st.lists(PARTS, min_size=1, max_size=4).map("".join),
    lambda inner: st.builds("({}){}".format, inner, st.sampled_from(["", "*", "?", "{0,2}"])),
    max_leaves=3,
)


@needs_re2
@settings(max_examples=300, deadline=None)
@given(PATTERNS, st.text("ab1\n", max_size=8))
def test_random_patterns_agree_with_re2(pattern: str, text: str) -> None:
    assert regexp_error(pattern) == ""
    wanted = matches(text, pattern)

    assert is_found(pattern, text) is wanted
    assert LinearPattern(translated(pattern)).is_found(text) is wanted


HOSTILE = [
    ("^(a+)+$", "a" * 5_000 + "b"),
    ("a*b", "a" * 200_000),
    ("(x+x+)+y", "x" * 50_000),
    ("".join(["(a|a)"] * 40) + "$", "a" * 100 + "b"),
    ("".join(["a?"] * 40) + "a" * 40 + "$", "a" * 40 + "b"),
    ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 5_000),
]


@needs_re2
@pytest.mark.parametrize(("pattern", "text"), HOSTILE)
def test_no_pattern_holds_up_the_server(pattern: str, text: str) -> None:
    assert not is_found(pattern, text)


@pytest.mark.parametrize(("pattern", "text"), HOSTILE)
def test_no_pattern_holds_it_up_without_re2(
    monkeypatch: pytest.MonkeyPatch, pattern: str, text: str
) -> None:
    monkeypatch.setattr(go_regexp, "is_available", lambda: False)

    assert not is_found(pattern, text)


def test_a_pattern_whose_states_never_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(go_regexp, "is_available", lambda: False)
    pattern = "(a|b)*a" + "(a|b)" * 200 + "c"
    text = "".join(random.Random(7).choices("ab", k=40_000))

    with pytest.raises(TooLaborious):
        is_found(pattern, text)
    [error] = of_text(text, {"pattern": pattern}, "spec.f", "spec.f")
    assert "install proreus[cel]" in error.message


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("a(b", "missing closing ): `a(b`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("a++", "invalid nested repetition operator: `++`"),
        (r"(a)\1", ""),
        ("((a{1,99}){1,99}){1,99}", ""),
    ],
)
@pytest.mark.parametrize("with_re2", [pytest.param(True, marks=needs_re2), False])
def test_what_go_does_not_take_is_refused(
    monkeypatch: pytest.MonkeyPatch, pattern: str, why: str, with_re2: bool
) -> None:
    monkeypatch.setattr(go_regexp, "is_available", lambda: with_re2)

    assert why in regexp_error(pattern)
    assert regexp_error(pattern)


def test_a_translation_is_one_that_python_reads() -> None:
    assert re.compile(translated(r"^\p{Lu}[[:space:]]$\z"), re.ASCII)
