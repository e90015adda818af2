"""Words of schemas are checked where they are written."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.client import SchemaError, checked


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("max_length", "maxLength"),
        ("maxlength", "maxLength"),
        ("min_items", "minItems"),
        ("max_properties", "maxProperties"),
        ("multiple_of", "multipleOf"),
        ("exclusive_minimum", "exclusiveMinimum"),
        ("patern", "pattern"),
        ("descripton", "description"),
        ("maximun", "maximum"),
    ],
)
def test_a_word_that_is_none_is_refused_with_the_right_spelling(word: str, meant: str) -> None:
    with pytest.raises(SchemaError, match=f"{word}' is no word of schemas; did you mean '{meant}'"):
        checked(**{word: 1})  # type: ignore[arg-type]  # no word is given


def test_a_word_like_no_other_is_refused_without_advice() -> None:
    with pytest.raises(SchemaError, match=r"'zzz' is no word of schemas$"):
        checked(zzz=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("maxLength", -1),
        ("maxLength", "5"),
        ("maxLength", 1.5),
        ("minItems", True),
        ("minimum", "1"),
        ("pattern", 7),
        ("nullable", "yes"),
        ("enum", "ab"),
        ("enum", []),
    ],
)
def test_a_value_that_cannot_be_a_word_s_is_refused(word: str, value: Any) -> None:
    with pytest.raises(SchemaError, match=f"^{word} is "):
        checked(**{word: value})


@pytest.mark.parametrize(
    "words",
    [
        {"minimum": 1, "maximum": 2.5, "exclusiveMaximum": True},
        {"maxLength": 0, "pattern": "^a", "format": "date-time", "description": "x"},
        {"enum": ("a", "b"), "default": None, "nullable": True, "example": {}},
        {"x-kubernetes-list-type": "set", "minItems": 1, "anyOf": [{"required": ["a"]}]},
    ],
)
def test_words_of_schemas_are_kept_as_they_are(words: dict[str, Any]) -> None:
    assert checked(**words) == words
