"""Quantities are read exactly and written as a Kubernetes server writes them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.values import quantity

TEXTS = st.from_regex(
    r"[+-]?[0-9]{1,12}(\.[0-9]{0,6})?(|[numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9])", fullmatch=True
)


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("0", "0"),
        ("-", "0"),
        ("500m", "500m"),
        ("1000m", "1"),
        ("1000", "1k"),
        ("1000k", "1M"),
        ("1.25", "1250m"),
        ("0.5Gi", "512Mi"),
        ("1.5Gi", "1536Mi"),
        ("1024Mi", "1Gi"),
        ("0.1Gi", "107374182400m"),
        ("129e6", "129e6"),
        ("1e-1", "100e-3"),
        ("+2", "+2"),
        ("123456789m", "123456789m"),
        ("1n", "1n"),
        ("0.1n", "1n"),
        ("1Ki", "1Ki"),
        ("1.250", "1.250"),
        ("9Ei", "9223372036854775807"),
    ],
)
def test_a_quantity_is_written_canonically(given: str, written: str) -> None:
    assert quantity.canonical(given) == written


@pytest.mark.parametrize("text", ["", "many", "1Q", "1.5.5", "1 Gi", "٣"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(quantity.QuantityError, match="must match the regular expression"):
        quantity.parse(text)


@pytest.mark.parametrize("text", ["1kk", "1ii", "1Kii"])
def test_an_unknown_suffix_is_refused(text: str) -> None:
    with pytest.raises(quantity.QuantityError, match="unable to parse quantity's suffix"):
        quantity.parse(text)


@pytest.mark.parametrize("text", ["Ei", "+Pi", "e-10", ".e-10"])
def test_no_number_is_refused_where_its_suffix_is_too_large_or_too_small(text: str) -> None:
    with pytest.raises(quantity.QuantityError, match="unable to parse numeric part of quantity"):
        quantity.parse(text)


@pytest.mark.parametrize("text", ["m", "Ki", "+", ".", "E"])
def test_no_number_is_nothing_elsewhere(text: str) -> None:
    assert quantity.canonical(text) == "0"


def test_resource_lists_round_up_to_thousandths() -> None:
    assert quantity.canonical_milli("0.0001") == "1m"
    assert quantity.canonical_milli("-0.0001") == "-1m"


@given(TEXTS)
def test_writing_keeps_the_amount_and_is_stable(text: str) -> None:
    read = quantity.parse(text)
    again = quantity.parse(read.text)

    assert again.amount == read.amount
    assert again.text == read.text


@given(st.integers(-(10**15), 10**15), st.sampled_from([1, 10, 1000, 10**6]))
def test_a_number_becomes_a_quantity_of_the_same_amount(number: int, parts: int) -> None:
    value = Fraction(number, parts)

    assert quantity.amount(quantity.from_amount(value).text) == value
