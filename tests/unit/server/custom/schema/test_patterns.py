"""Patterns of a schema: what they say of an object, and what they may cost."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.server.cel.pace import CostPace, PaceExceeded, on_loop
from proreus.server.custom.schema.matching import STEPS_MAX
from proreus.server.custom.schema.structural import parse
from proreus.server.custom.schema.validate import validate_object
from proreus.server.regular_expressions import compiled


def violations(
    pattern: str, value: Any, pace: CostPace | None = None, **more: Any
) -> list[tuple[str, str]]:
    field = {"type": "string", "pattern": pattern, **more}
    texts = {"type": "array", "items": field}
    schema = parse({"type": "object", "properties": {"f": field, "l": texts}})
    obj = {"l": value} if isinstance(value, list) else {"f": value}
    return [(one.field, one.message) for one in validate_object(obj, schema, pace=pace)]


def test_a_text_that_does_not_match_is_named() -> None:
    assert violations("^a+$", ["a", "b"]) == [
        ("l[1]", """Invalid value: "b": l[1] in body should match '^a+$'""")
    ]


def test_a_pattern_that_a_former_server_took_and_that_is_none_matches_nothing() -> None:
    [(_, message)] = violations("a(?=b)", "ab")

    assert message == (
        """Invalid value: "ab": f in body should match 'a(?=b), but pattern is invalid: """
        "error parsing regexp: invalid or unsupported Perl syntax: `(?=`'"
    )


LARGE = "(a|b)*a" + "(a|b)" * 900 + "c"


def test_matching_a_long_text_with_a_large_pattern_is_not_done_on_the_loop() -> None:
    with pytest.raises(PaceExceeded):
        violations(LARGE, "ab" * 1_000, on_loop())


def test_many_small_matches_are_not_small_together() -> None:
    assert violations("^a$", ["a"] * 100, on_loop()) == []
    with pytest.raises(PaceExceeded):
        violations("^a$", ["a"] * 10_000, on_loop())


def test_what_would_take_minutes_is_refused_and_not_begun() -> None:
    text = "ab" * 200_000
    assert compiled(LARGE).steps(text) > STEPS_MAX

    [(field, message)] = violations(LARGE, text)

    assert field == "f"
    assert message.endswith("': it takes too long on texts of this size")


@pytest.mark.parametrize("word", ["anyOf", "oneOf", "allOf", "not"])
def test_options_within_options_take_no_longer_than_there_are_options(word: str) -> None:
    options: Any = {"minLength": 9}
    for _ in range(60):
        options = {word: options if word == "not" else [options]}

    assert len(violations("", "x", **options)) in (1, 61)
