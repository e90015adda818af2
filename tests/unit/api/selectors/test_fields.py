"""Field selectors: grammar, meaning and the words of their errors (server.md §2.6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.selectors.errors import SelectorError
from proreus.api.selectors.fields import FieldRequirement, FieldSelector

FIELDS = {"metadata.name": "a", "spec.nodeName": "n1"}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        (",,", True),
        ("metadata.name=a", True),
        ("metadata.name==a,spec.nodeName!=n2", True),
        ("metadata.name=a,metadata.name=b", False),
        ("=", True),
        ("!=,metadata.name=b", False),
        ("status.phase=", True),
        ("status.phase!=", False),
    ],
)
def test_a_selector_picks_what_it_says(text: str, matches: bool) -> None:
    assert FieldSelector.parse(text).matches(FIELDS) is matches


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("a,b=c", "invalid selector: 'a,b=c'; can't understand 'a'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        ("a=\\b", "invalid field selector: invalid escape sequence: \\b"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_a_selector_that_cannot_be_read_is_refused_in_kubernetes_words(
    text: str, message: str
) -> None:
    with pytest.raises(SelectorError) as refused:
        FieldSelector.parse(text)

    assert str(refused.value) == message


def test_a_field_is_pinned_only_by_one_required_value() -> None:
    assert FieldSelector.parse("metadata.name=a,x!=y").pinned("metadata.name") == "a"
    assert FieldSelector.parse("metadata.name!=a").pinned("metadata.name") is None
    assert FieldSelector.parse("metadata.name=a,metadata.name=b").pinned("metadata.name") is None


def test_renaming_changes_the_names_and_nothing_else() -> None:
    selector = FieldSelector.parse("spec.host=n1").renamed({"spec.host": "spec.nodeName"})

    assert selector.matches(FIELDS)


@given(
    st.lists(
        st.tuples(
            st.from_regex(r"[a-z.]{1,8}", fullmatch=True),
            st.sampled_from(["=", "!="]),
            st.text(alphabet="ab\\,= ", max_size=6),
        )
    )
)
def test_printing_and_reading_again_gives_an_equal_selector(
    terms: list[tuple[str, str, str]],
) -> None:
    selector = FieldSelector(FieldRequirement(*term) for term in terms)

    assert FieldSelector.parse(str(selector)) == selector
