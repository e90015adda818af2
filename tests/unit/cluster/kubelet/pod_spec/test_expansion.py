"""``$(NAME)`` becomes what it names, once, and nothing else does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.cluster.kubelet.runtimes.pod_spec.expansion import expand

VARIABLES = {"A": "1", "B": "$(A)", "EMPTY": ""}


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(A)", "1"),
        ("x$(A)y$(A)", "x1y1"),
        ("$(B)", "$(A)"),  # values are not expanded again
        ("$(MISSING)", "$(MISSING)"),
        ("$(EMPTY)", ""),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$$$$(A)", "$$(A)"),
        ("$A ${A} $", "$A ${A} $"),
        ("$(A", "$(A"),
        ("$()", "$()"),
    ],
)
def test_references_are_replaced_and_dollars_escape_them(text: str, expanded: str) -> None:
    assert expand(text, VARIABLES) == expanded


def scanned(text: str) -> str:
    """The rule again, letter by letter."""
    made, at = "", 0
    while at < len(text):
        rest = text[at:]
        if rest.startswith("$$"):
            made, at = made + "$", at + 2
        elif rest.startswith("$(") and ")" in rest:
            name = rest[2 : rest.index(")")]
            made, at = made + VARIABLES.get(name, f"$({name})"), at + len(name) + 3
        else:
            made, at = made + rest[0], at + 1
    return made


@given(st.text(alphabet="$()AB x", max_size=30))
def test_any_text_expands_as_the_rule_says(text: str) -> None:
    assert expand(text, VARIABLES) == scanned(text)
