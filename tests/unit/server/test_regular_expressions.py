"""Users' regular expressions match as Go's do, and their cost is bounded before they run."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.server.regular_expressions import (
    LENGTH_MAX,
    InvalidExpression,
    compiled,
    expression_error,
)


@pytest.mark.parametrize(
    ("pattern", "text", "is_there"),
    [
        (r"^([a-z]+\.)+[a-z]+$", "a.b.c", True),
        (r"^([a-z]+\.)+[a-z]+$", "a..c", False),
        (r"^a*b*c*d*$", "aabbccdd", True),
        (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "a-b", True),
        (r"^[a-z]+$", "abc\n", False),
        (r"(?m)^b$", "a\nb\nc", True),
        (r"^\d+$", "٣", False),
        (r"^\p{Nd}+$", "٣", True),
        (r"^\pL{1,63}$", "größe", True),
        (r"^\w+\b", "ab c", True),
        (r"\Ba", "a", False),
        (r"^[[:alpha:]_]{2,3}\z", "a_b", True),
        (r"^[^[:digit:]]+$", "a1", False),
        (r"\x{41}\Q.*\E$", "xA.*", True),
        (r"\Qa+", "a+", True),
        (r"^a{,2}$", "aa", False),
        (r"^a{,2}$", "a{,2}", True),
        (r"^\\*$", "\\\\\\", True),
        (r"(?i)^straße|ÄPFEL$", "äpfel", True),
        (r"^(?i:a)b$", "Ab", True),
        (r"^(?i:a)b$", "AB", False),
        (r"^.$", "\n", False),
        (r"(?s)^.$", "\n", True),
        (r"^.$", "ä", True),
        (r"^x{0}y{2}(?:ab|c){1,2}?$", "yyabc", True),
        (r"(?P<x>a)(?P<x>b)(?<y>c)", "abc", True),
        ("", "", True),
    ],
)
def test_expressions_match_as_in_go(pattern: str, text: str, is_there: bool) -> None:
    assert expression_error(pattern) == ""
    assert compiled(pattern).is_found(text) is is_there


ATOMS = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", r"\d", r"\w", "(a|b)", "(?:ab|)"])
REPEATS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}", "{1,}", "*?"])
PARTS = st.one_of(st.builds("{}{}".format, ATOMS, REPEATS), st.sampled_from(["^", r"\b"]))
PATTERNS = st.recursive(
    st.lists(PARTS, min_size=1, max_size=4).map("".join),
    lambda inner: st.builds("({}){}".format, inner, st.sampled_from(["", "*", "?", "{0,2}"])),
    max_leaves=3,
)


@settings(max_examples=300, deadline=None)
@given(PATTERNS, st.text("ab1\n", max_size=8))
def test_what_both_know_matches_as_in_python(pattern: str, text: str) -> None:
    """Where the two languages mean the same, Python's engine is an oracle for short texts."""
    assert compiled(pattern).is_found(text) is (re.search(pattern, text, re.ASCII) is not None)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("a(b", "missing closing ): `a(b`"),
        ("a)b", "unexpected ): `a)b`"),
        ("[a", "missing closing ]: `[a`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a++", "invalid nested repetition operator: `++`"),
        ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("(a{1000}){1000}", "invalid repeat count: `{1000}`"),
        ("((a{1,99}){1,99}){1,99}", "invalid repeat count: `{1,99}`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?<!a)b", "invalid or unsupported Perl syntax: `(?<!`"),
        ("(?i", "invalid or unsupported Perl syntax: `(?i`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        (r"\C", r"invalid escape sequence: `\C`"),
        (r"\x{FFFFFFFFFF}", r"invalid escape sequence: `\x{FFFFFF`"),
        (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        ("(" * 2_000 + ")" * 2_000, "expression nests too deeply: `(((("),
        ("(?:" * 3_000, "expression nests too deeply: `(?:(?:"),
        ("a" * (LENGTH_MAX + 1), "expression too large: `aaaa"),
        ("[a-z]{1,1000}" * 100, "expression too large: `[a-z]{1,1000}"),
        ("(a?b?){1000}" * 3, "expression too large: `(a?b?){1000}"),
        (r"\pL" * 1_000, r"expression too large: `\pL"),
        (r"\Q" + "a" * 9_000, r"expression too large: `\Qaaaa"),
    ],
)
def test_what_go_does_not_take_is_refused_in_its_words(pattern: str, why: str) -> None:
    assert expression_error(pattern).startswith(f"error parsing regexp: {why}")
    with pytest.raises(InvalidExpression):
        compiled(pattern)


@pytest.mark.parametrize("part", ["[", "[[:", r"\p{", r"\Q", "(?", "{1", r"[\Q[:a", "\\"])
def test_reading_a_long_unfinished_expression_ends(part: str) -> None:
    pattern = (part * LENGTH_MAX)[: LENGTH_MAX - 1]

    assert expression_error(pattern)


def test_the_steps_of_a_match_grow_with_the_expression_and_the_text() -> None:
    small, large = compiled("^a{10}$"), compiled("^a{1000}$")

    assert large.steps("a" * 100) > 50 * small.steps("a" * 100)
    assert small.steps("a" * 10_000) > 50 * small.steps("a" * 100)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(a+)+$", "a" * 5_000 + "b"),
        ("a*b", "a" * 200_000),
        ("(x+x+)+y", "x" * 50_000),
        ("^" + r"\\*" * 5 + "x$", "\\" * 300),
        ("^" + "a{0,99}" * 6 + "b$", "a" * 600),
        ("".join(["a?"] * 40) + "a" * 40 + "$", "a" * 40 + "b"),
    ],
)
def test_expressions_that_make_a_backtracking_engine_hang_are_done_at_once(
    pattern: str, text: str
) -> None:
    assert not compiled(pattern).is_found(text)


def test_the_first_match_and_all_matches_are_found() -> None:
    assert compiled("[0-9]+").find("ab12c345") == "12"
    assert compiled("x").find("abc") == ""
    assert compiled("(ä)|b").find_all("xäxbx") == ["ä", "b"]
    assert compiled("a*").find_all("baaac") == ["", "aaa", ""]  # none right behind another
    assert compiled("[0-9]").find_all("1234", 2) == ["1", "2"]
    assert compiled("[0-9]").find_all("1234", 0) == []


def test_half_of_a_surrogate_pair_is_a_text_as_well() -> None:
    assert not compiled("^a$").is_found("\ud800")
    assert compiled("").find_all("ä\ud800")
