"""Quantities: ``500m``, ``1.5Gi``, ``129e6``; exact numbers with a suffix.

A quantity has three spellings (decimal suffix, binary suffix, decimal exponent) and keeps the one
it was written in. ``canonical`` gives the text a Kubernetes server answers with: the largest
suffix that leaves no fraction. As there, a text that is nearly canonical is kept as written
(``+2``, ``1.250``), and too small amounts are rounded up, never to nothing.

Every result is cached by its text: the same few hundred quantities appear in every object.
"""

from __future__ import annotations

import re
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor

from proreus.lazy_dataclass import dataclass

FORMAT_WRONG = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
SUFFIX_WRONG = "unable to parse quantity's suffix"
NUMBER_WRONG = "unable to parse numeric part of quantity"

_GRAMMAR = re.compile(
    r"(?P<sign>[+-]?)0*(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?P<suffix>[eEinumkKMGTP]*[+-]?[0-9]*)",
    re.ASCII,
)
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIX = {exponent: suffix for suffix, exponent in _BINARY.items()}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)", re.ASCII)

_LARGEST = 2**63 - 1
_SMALLEST_EXPONENT = -9  # nano
_DIGITS_OF_INT64 = 18
_CACHED = 8192
# Amounts are exact: a longer number or a larger exponent would cost without bound.
_DIGITS_MAX = 1000
_EXPONENT_MAX = 1000


class QuantityError(ValueError):
    """The text is no quantity; ``str(error)`` is Kubernetes' sentence."""


class Format(Enum):
    DECIMAL = "DecimalSI"
    BINARY = "BinarySI"
    EXPONENT = "DecimalExponent"


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact amount, the spelling to show it in, and the text to show if it is kept."""

    amount: Fraction
    format: Format
    text: str

    def __str__(self) -> str:
        return self.text


@lru_cache(_CACHED)
def parse(text: str) -> Quantity:
    """Read a quantity; ``str(result)`` is canonical."""
    found = _GRAMMAR.fullmatch(text)
    if found is None or not text:
        raise QuantityError(FORMAT_WRONG)
    spelling, base, exponent = _suffix(found["suffix"])
    negative = found["sign"] == "-"
    whole, fraction = found["whole"] or "0", found["fraction"] or ""
    if len(whole) + len(fraction) > _DIGITS_MAX or abs(exponent) > _EXPONENT_MAX:
        raise QuantityError(FORMAT_WRONG)
    if _fits_int64(whole, fraction, base, exponent):
        scale = exponent - len(fraction) if base == 10 else 0
        digits = whole + fraction
        if _is_kept(digits, scale, base, exponent):
            amount = _amount(digits, scale, base, exponent)
            return Quantity(-amount if negative else amount, spelling, text)
    elif not any(char.isdigit() for char in text.removesuffix(found["suffix"])):
        raise QuantityError(NUMBER_WRONG)  # without digits it is 0 if 64 bits hold its suffix
    amount = _amount(whole + fraction, exponent - len(fraction), base, exponent, len(fraction))
    amount = _round_up(amount, _SMALLEST_EXPONENT)
    if spelling is Format.BINARY:
        amount = min(amount, Fraction(_LARGEST))
    return _written(-amount if negative else amount, spelling)


@lru_cache(_CACHED)
def canonical(text: str) -> str:
    """The text a server answers with for ``text``."""
    return parse(text).text


@lru_cache(_CACHED)
def canonical_milli(text: str) -> str:
    """``canonical``, rounded up to thousandths: what resource lists (requests, limits) hold."""
    quantity = parse(text)
    rounded = _round_up(quantity.amount, -3)
    if rounded == quantity.amount:
        return quantity.text
    return _written(rounded, quantity.format).text


def amount(value: object) -> Fraction:
    """The exact number behind a quantity in JSON (text or number), 0 if it is absent."""
    return parse(str(value)).amount if value is not None else Fraction(0)


def from_amount(value: Fraction | int, like: Format = Format.DECIMAL) -> Quantity:
    """A number as a quantity, spelled like another one."""
    return _written(_round_up(Fraction(value), _SMALLEST_EXPONENT), like)


def _suffix(suffix: str) -> tuple[Format, int, int]:
    if (decimal := _DECIMAL.get(suffix)) is not None:
        return Format.DECIMAL, 10, decimal
    if (binary := _BINARY.get(suffix)) is not None:
        return Format.BINARY, 2, binary
    if exponent := _EXPONENT.fullmatch(suffix):
        if len(exponent[1]) > _DIGITS_MAX:
            raise QuantityError(SUFFIX_WRONG)
        return Format.EXPONENT, 10, int(exponent[1])
    raise QuantityError(SUFFIX_WRONG)


def _fits_int64(whole: str, fraction: str, base: int, exponent: int) -> bool:
    if base == 10:
        scale = exponent - len(fraction)
        return len(whole) + len(fraction) <= _DIGITS_OF_INT64 and scale >= _SMALLEST_EXPONENT
    return not fraction and 15 - len(whole) - int(exponent * 3 / 10) - 1 >= 0


def _is_kept(digits: str, scale: int, base: int, exponent: int) -> bool:
    """Whether the text counts as canonical already (a cheap test, so ``+2`` passes it)."""
    if base == 2:
        return int(digits) & 7 != 0
    return scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _amount(digits: str, scale: int, base: int, exponent: int, places: int = 0) -> Fraction:
    if base == 2:
        return Fraction(int(digits) * 2**exponent, 10**places)
    return Fraction(int(digits) * 10**scale if scale >= 0 else Fraction(int(digits), 10**-scale))


def _round_up(value: Fraction, exponent: int) -> Fraction:
    """Away from zero, so that a small request never becomes none."""
    unit = 10**-exponent
    scaled = value * unit
    return Fraction(ceil(scaled) if scaled > 0 else floor(scaled), unit)


def _written(value: Fraction, spelling: Format) -> Quantity:
    if value == 0:
        return Quantity(value, spelling, "0")
    if spelling is Format.BINARY and (abs(value) < 1024 or value.denominator != 1):
        # Small and broken amounts would only confuse in powers of two.
        return Quantity(value, spelling, _decimal(value, Format.DECIMAL))
    if spelling is Format.BINARY:
        return Quantity(value, spelling, _binary(int(value)))
    return Quantity(value, spelling, _decimal(value, spelling))


def _binary(value: int) -> str:
    exponent = 0
    while value % 1024 == 0 and exponent < 60:
        value, exponent = value // 1024, exponent + 10
    return f"{value}{_BINARY_SUFFIX.get(exponent, '')}"


def _decimal(value: Fraction, spelling: Format) -> str:
    exponent = 0
    while value.denominator != 1:
        value, exponent = value * 1000, exponent - 3
    number = int(value)
    while number % 1000 == 0:
        number, exponent = number // 1000, exponent + 3
    if spelling is Format.DECIMAL and exponent in _DECIMAL_SUFFIX:
        return f"{number}{_DECIMAL_SUFFIX[exponent]}"
    return f"{number}e{exponent}" if exponent else str(number)
