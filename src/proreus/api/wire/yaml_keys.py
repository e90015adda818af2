"""In which order the keys of a map stand in YAML: that of the YAML library under Kubernetes.

Digits count as the number they make, so that ``k2`` comes before ``k10``, and letters come after
all other signs. Mixed runs have no total order there either (k2 < k10 < k1b < k2).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cmp_to_key


def in_order(keys: Iterable[str]) -> list[str]:
    given = list(keys)
    # Names of fields are letters alone, which need no look at each sign.
    return sorted(given) if all(map(str.isalpha, given)) else sorted(given, key=_ORDER)


def _compare(left: str, right: str) -> int:
    for place, (one, other) in enumerate(zip(left, right, strict=False)):
        if one == other:
            continue
        if one.isalpha() or other.isalpha():
            if one.isalpha() and other.isalpha():
                return ord(one) - ord(other)
            return 1 if one.isalpha() else -1
        # Zeros inside a number that began before are digits of it, not zeros in front.
        begun = "0" in (one, other) and _continues_number(left, place)
        first, second = _number(left, place, begun=begun), _number(right, place, begun=begun)
        if first != second:
            return -1 if first < second else 1
        return ord(one) - ord(other)
    return len(left) - len(right)


def _number(text: str, start: int, *, begun: bool) -> tuple[int, int]:
    """The digits from here on, as a number of 64 bits that overflows, and where they end."""
    value, place = int(begun), start
    while place < len(text) and text[place].isdecimal():
        value = (value * 10 + ord(text[place]) - ord("0")) & _BITS
        place += 1
    return (value - _BITS - 1 if value > _BITS >> 1 else value), place


def _continues_number(text: str, place: int) -> bool:
    while place and text[place - 1] == "0":
        place -= 1
    return place > 0 and text[place - 1].isdecimal()


_BITS = 2**64 - 1
_ORDER = cmp_to_key(_compare)
