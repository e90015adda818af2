"""Values as texts: ``format``, and what ``string`` makes of numbers and durations."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("cel_expr_python.cel")

from proreus.server.cel.checker import Checker, CheckError
from proreus.server.cel.evaluate import Program

CHECKER = Checker.of_rules(None)


def value_of(text: str) -> Any:
    outcome = Program(CHECKER.check(text), CHECKER).run(({"a": [1, "x"]}, None), 1_000_000)
    return f"error: {outcome.error}" if outcome.error else outcome.value


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("'%s has %d%%'.format(['a', 3])", "a has 3%"),
        ("'%s %s %s'.format([true, null, type(1)])", "true null int"),
        ("'%s'.format([['a', 'b']])", '["a", "b"]'),
        ("'%s'.format([[dyn(1.5), dyn(b'x'), dyn([1u])]])", '[1.500000, b"x", [1]]'),
        ("'%s'.format([{'b': dyn(2), 'a': dyn('\\n')}])", '{"a":"\\n", "b":2}'),
        ("'%s'.format([{1: timestamp(0)}])", '{1:timestamp("1970-01-01T00:00:00Z")}'),
        ("'%s'.format([[duration('90s')]])", '[duration("90s")]'),
        ("'%s'.format([self])", '{"a":[1, "x"]}'),
        ("'%f'.format([1234567.5])", "1,234,567.500000"),
        ("'%.1f'.format([0.25])", "0.2"),
        ("'%f'.format(['-Infinity'])", "-∞"),
        ("'%e'.format([1052.032911275])", "1.052033\u202f×\u202f10⁰³"),
        ("'%.2e'.format([-0.0012])", "-1.200000\u202f×\u202f10⁻⁰³"),
        ("'%x %X %o %b'.format([255, 'jk', 8, true])", "ff 6A6B 10 1"),
        ("string(123456.0) + ' ' + string(1234567.0)", "123456 1.234567e+06"),
        ("string(0.0001) + ' ' + string(-0.00001)", "0.0001 -1e-05"),
        ("string(1.0 / 0.0) + ' ' + string(-1.0 / 0.0)", "+Inf -Inf"),
        ("string(duration('1000000s')) + ' ' + string(duration('1500ms'))", "1000000s 1.5s"),
    ],
)  # fmt: skip
def test_values_are_written_as_kubernetes_writes_them(text: str, written: str) -> None:
    assert value_of(text) == written


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("'%d'.format([dyn(1.0)])", "clause can only be used on integers, was given double"),
        ("'%f'.format([dyn(1)])", "fixed-point clause can only be used on doubles, was given int"),
        ("'%s'.format([dyn(quantity('1'))])", "timestamps, was given kubernetes.Quantity"),
        ("'%s'.format([[dyn(quantity('1'))]])", "no formatting function for kubernetes.Quantity"),
        ("('%s' + '%s').format(['a'])", "index 1 out of range"),
        ("'%s'.format(self)", "no such overload: format(string, map)"),
    ],
)  # fmt: skip
def test_values_that_a_clause_does_not_take_are_an_error(text: str, why: str) -> None:
    assert value_of(text).endswith(why)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("'%d'.format(['a'])", "1:14: error during formatting: decimal clause"),
        ("'%s %d'.format(['a', 1.5])", "1:22: error during formatting: decimal clause"),
        ("'%s'.format([[ip('::1')]])", "was given net.IP"),
        ("'%s'.format([])", "index 0 out of range"),
        ("'a'.format([1])", "too many arguments supplied to string.format (expected 0, got 1)"),
        ("'%z'.format([1])", 'unrecognized formatting clause "z"'),
        ("'5%'.format([1])", "unexpected end of string"),
    ],
)
def test_constant_texts_are_checked_before_anything_runs(text: str, why: str) -> None:
    with pytest.raises(CheckError) as refused:
        CHECKER.check(text)

    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("'abc'.indexOf('a', 5)", -1),
        ("'abc'.indexOf('', 9)", 9),
        ("'abc'.indexOf('a', -1)", "error: index out of range: -1"),
        ("'abc'.lastIndexOf('c', 9)", -1),
        ("'abc'.substring(5, 2)", "error: invalid substring range. start: 5, end: 2"),
        ("'abc'.substring(1, 9)", "error: index out of range: 9"),
    ],
)
def test_places_beyond_a_text_hold_nothing(text: str, found: Any) -> None:
    assert value_of(text) == found
