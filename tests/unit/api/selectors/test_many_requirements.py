"""Selectors with thousands of requirements: they mean what each of them means, at no more cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.selectors import FieldSelector, LabelSelector

MANY = 3_000


class Counted(Mapping[str, str]):
    """Labels that count how often they are looked at."""

    def __init__(self, labels: dict[str, str]) -> None:
        self._labels = labels
        self.looks = 0

    def __getitem__(self, key: str) -> str:
        self.looks += 1
        return self._labels[key]

    def __iter__(self) -> Iterator[str]:
        self.looks += 1
        return iter(self._labels)

    def __len__(self) -> int:
        return len(self._labels)


def _joined(form: str, count: int = MANY) -> str:
    return ",".join(form.format(number) for number in range(count))


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        (_joined("app!=v{}"), True),
        (_joined("app!=x"), True),
        (_joined("k{}!=x"), True),
        (_joined("!k{}"), True),
        (_joined("k{} notin (x,y)"), True),
        (_joined("app notin (x{},y)"), True),
        (_joined("k{}"), False),
        (_joined("k{}=x"), False),
        (_joined("k{} in (x,y)"), False),
        (_joined("k{}>1"), False),
        (_joined("n>{}", 100) + "," + _joined("n<1{}", 100), False),
        (_joined("app=web"), True),
        (f"app in (web,{_joined('v{}')})", True),
    ],
)
def test_an_object_is_tested_in_as_many_looks_as_it_has_labels_not_as_there_are_requirements(
    text: str, matches: bool
) -> None:
    selector = LabelSelector.parse(text)
    labels = Counted({"app": "web", "n": "7"})

    assert selector.matches(labels) is matches
    assert labels.looks <= 6


@pytest.mark.parametrize("text", [_joined("app!=x"), _joined("app=web"), _joined("app")])
def test_a_requirement_given_again_is_kept_once(text: str) -> None:
    assert len(LabelSelector.parse(text).requirements) == 1


def test_a_field_selector_looks_once_at_each_field_it_names() -> None:
    fields = Counted({"metadata.name": "a", "spec.nodeName": "n"})
    selector = FieldSelector.parse(
        ",".join((_joined("metadata.name!=x{}"), _joined("spec.nodeName!=y{}")))
    )

    assert selector.matches(fields)
    assert fields.looks <= 4
    assert len(FieldSelector.parse(_joined("metadata.name=a")).requirements) == 1


_KEYS = st.sampled_from("abc")
_VALUES = st.sampled_from(["", "1", "2", "3", "x"])
_REQUIREMENTS = st.one_of(
    _KEYS,
    _KEYS.map("!{}".format),
    st.tuples(_KEYS, st.sampled_from(["=", "!="]), _VALUES).map("".join),
    st.tuples(_KEYS, st.sampled_from([">", "<"]), st.sampled_from("123")).map("".join),
    st.tuples(
        _KEYS, st.sampled_from(["in", "notin"]), st.lists(_VALUES, min_size=1, max_size=3)
    ).map(lambda t: f"{t[0]} {t[1]} ({','.join(t[2])})"),
)


@given(st.lists(_REQUIREMENTS, min_size=1, max_size=8), st.dictionaries(_KEYS, _VALUES, max_size=3))
def test_folded_requirements_mean_what_they_mean_one_by_one(
    terms: list[str], labels: dict[str, str]
) -> None:
    together = LabelSelector.parse(",".join(terms)).matches(labels)

    assert together is all(LabelSelector.parse(term).matches(labels) for term in terms)


_FIELD_TERMS = st.tuples(_KEYS, st.sampled_from(["=", "!="]), _VALUES).map("".join)


@given(st.lists(_FIELD_TERMS, min_size=1, max_size=6), st.dictionaries(_KEYS, _VALUES, max_size=3))
def test_folded_terms_mean_what_they_mean_one_by_one(
    terms: list[str], fields: dict[str, str]
) -> None:
    together = FieldSelector.parse(",".join(terms)).matches(fields)

    assert together is all(FieldSelector.parse(term).matches(fields) for term in terms)
