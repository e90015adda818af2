"""What Kubernetes adds to CEL: functions on lists, texts, quantities and addresses.

A quantity is a plain number here: rules only compare and add them.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

from proreus.api.values import quantity
from proreus.server.custom.go_regexp import compiled


def extension(cel: Any) -> Any:
    """The functions as one extension of the library's environment."""
    types = cel.Type
    text, number, truth = types.STRING, types.INT, types.BOOL
    anything, items = types.DYN, types.LIST
    declared: list[tuple[str, Any, list[Any], bool, Callable[..., Any]]] = [
        ("isSorted", truth, [items], True, _is_sorted),
        ("sum", anything, [items], True, lambda values: sum(values)),
        ("min", anything, [items], True, lambda values: min(values)),
        ("max", anything, [items], True, lambda values: max(values)),
        ("indexOf", number, [items, anything], True, _index_of),
        ("lastIndexOf", number, [items, anything], True, _last_index_of),
        ("find", text, [text, text], True, _find),
        ("findAll", types.List(text), [text, text], True, _find_all),
        ("isURL", truth, [text], False, _is_url),
        ("isIP", truth, [text], False, _is_ip),
        ("isCIDR", truth, [text], False, _is_cidr),
        ("isQuantity", truth, [text], False, _is_quantity),
        ("quantity", anything, [text], False, _quantity),
        ("isGreaterThan", truth, [anything, anything], True, lambda a, b: a > b),
        ("isLessThan", truth, [anything, anything], True, lambda a, b: a < b),
        ("compareTo", number, [anything, anything], True, lambda a, b: (a > b) - (a < b)),
        ("asApproximateFloat", types.DOUBLE, [anything], True, float),
        ("asInteger", number, [anything], True, int),
        ("isInteger", truth, [anything], True, lambda a: float(a).is_integer()),
        ("sign", number, [anything], True, lambda a: (a > 0) - (a < 0)),
        ("add", anything, [anything, anything], True, lambda a, b: a + b),
        ("sub", anything, [anything, anything], True, lambda a, b: a - b),
    ]
    return cel.CelExtension(
        "kubernetes",
        [
            cel.FunctionDecl(
                name,
                [
                    cel.Overload(
                        id=f"kubernetes_{name}",
                        return_type=result,
                        parameters=parameters,
                        is_member=is_member,
                        impl=run,
                    )
                ],
            )
            for name, result, parameters, is_member, run in declared
        ],
    )


def _is_sorted(values: Any) -> bool:
    return all(left <= right for left, right in pairwise(values))


def _index_of(values: Any, wanted: Any) -> int:
    return next((at for at, value in enumerate(values) if value == wanted), -1)


def _last_index_of(values: Any, wanted: Any) -> int:
    found = [at for at, value in enumerate(values) if value == wanted]
    return found[-1] if found else -1


def _find(text: str, pattern: str) -> str:
    found = compiled(pattern).search(text)
    return found[0] if found else ""


def _find_all(text: str, pattern: str) -> list[str]:
    return [found[0] for found in re.finditer(compiled(pattern), text)]


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc) or text.startswith("/")


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_cidr(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text


def _is_quantity(text: str) -> bool:
    try:
        quantity.parse(text)
    except quantity.QuantityError:
        return False
    return True


def _quantity(text: str) -> float:
    return float(quantity.parse(text).amount)
