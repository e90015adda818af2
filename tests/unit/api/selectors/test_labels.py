"""Label selectors: grammar, meaning and the words of their errors (server.md §2.6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.selectors.errors import SelectorError
from proreus.api.selectors.labels import LabelSelector

WEB = {"tier": "web", "n": "7", "empty": ""}


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("", {}, True),
        ("tier", WEB, True),
        ("!tier", WEB, False),
        ("!other", WEB, True),
        ("tier=web", WEB, True),
        ("tier=web\0", WEB, True),
        ("tier=web \0,tier=db", WEB, True),
        ("tier == web , n=7", WEB, True),
        ("tier!=web", WEB, False),
        ("other!=x", WEB, True),
        ("tier in (db, web)", WEB, True),
        ("tier notin (db)", WEB, True),
        ("other notin (db)", WEB, True),
        ("empty=", WEB, True),
        ("empty in ()", WEB, True),
        ("empty in (a,)", WEB, True),
        ("empty in (,)", WEB, True),
        ("empty in (a,,b)", WEB, True),
        ("tier in (a,,,web)", WEB, True),
        ("tier in (,a)", WEB, False),
        ("n>6", WEB, True),
        ("n>7", WEB, False),
        ("n<8", WEB, True),
        ("tier>1", WEB, False),
        ("in in (in)", {"in": "in"}, True),
        ("notin=notin", {"notin": "notin"}, True),
    ],
)
def test_a_selector_picks_what_it_says(text: str, labels: dict[str, str], matches: bool) -> None:
    assert LabelSelector.parse(text).matches(labels) is matches


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tier in (web", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("tier in web", "unable to parse requirement: found 'web' expected: '('"),
        ("tier in (web))", "found ')', expected: ',' or 'end of string'"),
        (
            "tier web",
            "unable to parse requirement: found 'web', expected: in, notin, =, ==, !=, gt, lt",
        ),
        (
            "tier\0web",
            "unable to parse requirement: found 'web', expected: in, notin, =, ==, !=, gt, lt",
        ),
        ("(tier)", "found '(', expected: !, identifier, or 'end of string'"),
        ("tier===web", "unable to parse requirement: found '=', expected: identifier"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (b,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a in (b,!c)", "unable to parse requirement: found '!', expected: ',', or identifier"),
        ("a in (,,)", "unable to parse requirement: found ')', expected: ',', or identifier"),
        ("a,", "found '', expected: identifier after ','"),
        (
            "n>ten",
            'unable to parse requirement: values[0]: Invalid value: "ten": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        (
            "/tier=web",
            'unable to parse requirement: <nil>: Invalid value: "/tier": '
            "prefix part must be non-empty",
        ),
    ],
)
def test_a_selector_that_cannot_be_read_is_refused_in_kubernetes_words(
    text: str, message: str
) -> None:
    with pytest.raises(SelectorError) as refused:
        LabelSelector.parse(text)

    assert str(refused.value) == message


def test_the_object_form_means_the_same_as_the_text_form() -> None:
    selector = LabelSelector.from_object(
        {
            "matchLabels": {"tier": "web"},
            "matchExpressions": [
                {"key": "n", "operator": "In", "values": ["7", "8"]},
                {"key": "gone", "operator": "DoesNotExist"},
            ],
        }
    )

    assert selector == LabelSelector.parse("!gone,n in (8,7),tier=web")
    assert selector.matches(WEB)


def test_the_object_form_prints_requirements_of_one_key_in_their_order() -> None:
    selector = LabelSelector.from_object(
        {
            "matchLabels": {"b": "1", "a": "2"},
            "matchExpressions": [
                {"key": "b", "operator": "NotIn", "values": ["4", "3"]},
                {"key": "a", "operator": "In", "values": ["2"]},
                {"key": "b", "operator": "Exists"},
                {"key": "a", "operator": "Exists"},
            ],
        }
    )

    assert str(selector) == "a=2,a in (2),a,b=1,b notin (3,4),b"


_word = st.from_regex(r"[a-z]([a-z0-9-]{0,5}[a-z0-9])?", fullmatch=True)
_requirement = st.one_of(
    _word,
    _word.map("!{}".format),
    st.tuples(_word, st.sampled_from(["=", "==", "!="]), _word).map("".join),
    st.tuples(_word, st.sampled_from([">", "<"]), st.integers(0, 99).map(str)).map("".join),
    st.tuples(_word, st.sampled_from(["in", "notin"]), st.lists(_word, min_size=1)).map(
        lambda t: f"{t[0]} {t[1]} ({','.join(t[2])})"
    ),
)


@given(st.lists(_requirement, min_size=1, max_size=4).map(",".join))
def test_printing_and_reading_again_gives_an_equal_selector(text: str) -> None:
    selector = LabelSelector.parse(text)

    assert LabelSelector.parse(str(selector)) == selector


@given(st.text(alphabet="ab=!(), <>in\t", max_size=20))
def test_any_text_is_either_read_or_refused(text: str) -> None:
    try:
        LabelSelector.parse(text).matches(WEB)
    except SelectorError as refused:
        assert str(refused)


@pytest.mark.parametrize("text", ["a/", f"k={'-' * 64}"])
def test_all_that_is_wrong_with_one_key_or_value_is_reported_in_one_sentence(text: str) -> None:
    with pytest.raises(SelectorError) as refused:
        LabelSelector.parse(text)

    truncated = str(refused.value)
    assert (truncated.count("Invalid value: "), truncated.count("; ")) == (1, 1), truncated
