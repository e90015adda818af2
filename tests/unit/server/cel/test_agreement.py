"""Our evaluator agrees with the library's own, the oracle here: same values, same failures."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("cel_expr_python.cel")

from cel_expr_python import cel

from proreus.server.cel.checker import Checker, CheckError
from proreus.server.cel.evaluate import Program
from proreus.server.cel.steps import CostExceeded

CONFIGURATION = """
name: oracle
extensions:
- name: optional
- name: strings
- name: sets
- name: two-var-comprehensions
- name: lists
  version: 2
"""
ORACLE = cel.NewEnv(
    config=cel.NewEnvConfigFromYaml(CONFIGURATION),
    variables={"self": cel.Type.DYN, "oldSelf": cel.Type.DYN},
)
CHECKER = Checker.of_rules(None)
VALUE = {
    "n": 3,
    "d": 2.5,
    "s": "héllo, wörld",
    "b": True,
    "z": None,
    "l": [1, 2, 3],
    "t": ["b", "a"],
    "m": {"a": 1, "b": 2},
    "o": [{"k": "x", "v": 1}, {"k": "y", "v": 2}],
}


def theirs(text: str) -> Any:
    found = ORACLE.compile(text).eval(data={"self": VALUE, "oldSelf": None})
    if found.type().name() == "ERROR":
        return "error"
    return found.plain_value()


def ours(text: str) -> Any:
    outcome = Program(CHECKER.check(text), CHECKER).run((VALUE, None), 1_000_000)
    return "error" if outcome.error else outcome.value


@pytest.mark.parametrize(
    "text",
    [
        "1 + 2 * 3 - 4 / 2 % 3 == 6",
        "-7 / 2 == -3 && -7 % 2 == -1 && 7 / -2 == -3",
        "9223372036854775807 + 1",
        "-(-9223372036854775807 - 1)",
        "1u - 2u",
        "2u * 3u == 6u && uint(3) == 3u",
        "1 / 0",
        "1 % 0",
        "1.0 / 0.0 > 5.0",
        "0.1 + 0.2",
        "'a' + 'b' == 'ab' && b'a' + b'b' == b'ab'",
        "[1] + [2, 3]",
        "[3, 1, 2].sort() == [1, 2, 3] && self.t.sort() == ['a', 'b']",
        "self.o.sortBy(e, -e.v).map(e, e.k)",
        "[dyn(1), dyn('a')].sort()",
        "self.l.reverse() + self.l.slice(1, 2) + lists.range(3)",
        "self.l.slice(2, 1)",
        "self.l.slice(0, 9)",
        "[dyn([1]), dyn(2)].flatten()",
        "[dyn([1]), dyn([dyn([2])])].flatten(2)",
        "[1, 2, 1, 3].distinct()",
        "self.l.first().value() + self.l.last().value() + [0].slice(0, 0).first().orValue(7)",
        "[1, 2] == [1, 2] && [1, 2] != [2, 1] && {'a': 1} == {'a': 1}",
        "self.n == 3.0 && self.d > 2 && self.b != 1",
        "self.z == null && self.n != null",
        "self.missing",
        "has(self.missing) || has(self.m.a)",
        "self.missing == 1 || true",
        "false && self.missing == 1",
        "self.missing == 1 && false",
        "self.missing == 1 || false",
        "self.n > 2 ? 'yes' : 'no'",
        "self.n ? 1 : 2",
        "self.l[1] == 2 && self.m['b'] == 2 && 2 in self.l && 'a' in self.m && !('c' in self.m)",
        "self.l[3]",
        "self.l[-1]",
        "self.m['c']",
        "size(self.s) == 12 && self.l.size() == 3 && size(self.m) == 2 && size(b'abc') == 3",
        "self.l.all(x, x > 0) && self.l.exists(x, x == 2) && self.l.exists_one(x, x == 3)",
        "self.l.exists(x, x / (x - 2) > 1)",
        "self.l.all(x, x / (x - 2) < 5)",
        "self.l.all(x, x / (x - 2) < 0)",
        "self.l.exists_one(x, x / (x - 2) > 1)",
        "self.l.map(x, x * 2)",
        "self.l.map(x, x > 1, x * 2)",
        "self.l.filter(x, x != 2)",
        "self.l.map(x, self.l.map(y, x * y))",
        "self.m.map(k, self.m[k]).exists(v, v == 2)",
        "self.m.all(k, k < 'c')",
        "self.o.map(e, e.k + 'z')",
        "self.o.filter(e, e.v > 1).map(e, e.k)[0]",
        "self.l.all(i, v, v == i + 1) && self.m.exists(k, v, k == 'b' && v == 2)",
        "self.l.existsOne(i, v, v == 2)",
        "self.l.transformList(i, v, i * v)",
        "self.l.transformList(i, v, v > 1, i * v)",
        "self.s.contains('wör') && self.s.startsWith('hé') && self.s.endsWith('ld')",
        "self.s.matches('^h.llo') && !'abc'.matches('^b')",
        "'tacocat'.charAt(3) + 'tacocat'.charAt(7)",
        "'tacocat'.charAt(8)",
        "'tacocat'.indexOf('ac', 3) + 'tacocat'.lastIndexOf('ac', 3) + 'abc'.indexOf('')",
        "'tacocat'.lastIndexOf('at', 6) + 'tacocat'.lastIndexOf('x')",
        "'TacoCÆt'.lowerAscii() + 'TacoCÆt xii'.upperAscii()",
        "'hello hello'.replace('he', 'we', 1) + 'aa'.replace('', '-') + 'hello'.replace('l', '')",
        "'a,b,c'.split(',') + 'abc'.split('') + 'a,b,c'.split(',', 2) + 'a,b'.split(',', 0)",
        "'tacocat'.substring(4) + 'tacocat'.substring(0, 4)",
        "'tacocat'.substring(40)",
        "'tacocat'.substring(4, 2)",
        "'  trim\\n '.trim() + ['a', 'b'].join('-') + ['a'].join()",
        "strings.quote('a\"b\\n')",
        "'%s %d %.2f %x %o %b'.format(['a', 1, 2.5, 255, 8, 5])",
        "'%d'.format([dyn('a')])",
        "('%s' + '%s').format(['a'])",
        "int('12') + int(3.9) + int(4u)",
        "int('x' + '')",
        "int(self.d * 1e30)",
        "double('1.5') + double(2)",
        "string(1) + string(2.5) + string(true) + string(b'x') + string(3u)",
        "bool('true') && !bool('false')",
        "bytes('é') == b'\\303\\251'",
        "timestamp('2024-02-29T12:34:56.789Z').getFullYear() == 2024",
        "timestamp('2024-02-29T12:34:56.789Z').getMonth() == 1",
        "timestamp('2024-02-29T12:34:56Z').getDayOfMonth() + "
        "timestamp('2024-02-29T12:34:56Z').getDate() + "
        "timestamp('2024-02-29T12:34:56Z').getDayOfWeek() + "
        "timestamp('2024-02-29T12:34:56Z').getDayOfYear()",
        "timestamp('2024-02-29T12:34:56.789Z').getMilliseconds()",
        "timestamp('2024-02-29T23:34:56Z').getHours('+02:00')",
        "timestamp('2024-02-29T23:34:56Z').getHours('Europe/Berlin')",
        "duration('90m').getHours() + duration('90m').getMinutes() + duration('1.5s').getSeconds()",
        "timestamp('2024-01-01T00:00:00Z') + duration('1h') > timestamp('2024-01-01T00:00:00Z')",
        "timestamp('2024-01-02T00:00:00Z') - timestamp('2024-01-01T00:00:00Z') == duration('24h')",
        "timestamp('n' + 'o')",
        "duration('n' + 'o')",
        "string(timestamp('2024-01-01T00:00:00Z')) + string(duration('90m'))",
        "type(1) == int && type('a') == string && type(self.l) == list && type(null) != int",
        "self.?n.orValue(5) == 3 && self.?missing.orValue(5) == 5 && !self.?missing.hasValue()",
        "self.?m.b.orValue(0) + self.?missing.b.orValue(7) + self.m[?'a'].orValue(0)",
        "self.l[?5].or(optional.of(1)).value()",
        "optional.none().value()",
        "optional.of(1).optMap(x, x + 1).value() + self.?n.optFlatMap(x, optional.of(x)).value()",
        "[1, ?self.?missing, ?optional.of(2)]",
        "{'a': 1, ?'b': self.?missing, ?'c': optional.of(3)}",
        "optional.ofNonZeroValue(0).hasValue() || optional.ofNonZeroValue('').hasValue()",
        "sets.contains([1, 2, 3], [2, 1]) && sets.intersects([1], [1, 2]) "
        "&& sets.equivalent([1, 1], [1]) && !sets.contains([1], [2])",
        "dyn(self.n) + 1",
        "self.s + 1",
        "self.n < self.s",
        "!self.n",
        "-self.s",
        "1 in {1: 'a'} && {'a': {'b': 1}}.a.b == 1",
        "'a' < 'b' && b'a' < b'b' && false < true && 1 < 2 && 1.5 > 1.0",
        "has(self.m.z) ? self.m.z : has(self.o) && size(self.o) == 2",
    ],
)  # fmt: skip
def test_values_and_failures_agree(text: str) -> None:
    expected = theirs(text)
    if isinstance(expected, float):
        assert ours(text) == pytest.approx(expected)
    else:
        assert ours(text) == expected


numbers = st.integers(-5, 5).map(str) | st.sampled_from(["self.n", "self.l[0]", "self.l[9]", "x"])
texts = st.sampled_from(["'a'", "'ab'", "self.s", "self.t[1]", "self.missing", "string(x)"])


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(inner, inner)
    return st.one_of(
        two.map(lambda p: f"({p[0]} && {p[1]})"),
        two.map(lambda p: f"({p[0]} || {p[1]})"),
        inner.map(lambda p: f"!({p})"),
        st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} ? {p[1]} : {p[2]})"),
        inner.map(lambda p: f"self.l.all(x, {p})"),
        inner.map(lambda p: f"self.l.exists(x, {p})"),
        inner.map(lambda p: f"self.l.exists_one(x, {p})"),
        inner.map(lambda p: f"(self.l.filter(x, {p}).size() == 2)"),
        inner.map(lambda p: f"self.l.map(x, {p})[1]"),
    )


facts = st.one_of(
    st.tuples(numbers, st.sampled_from("+-*/%"), numbers, numbers).map(
        lambda p: f"({p[0]} {p[1]} {p[2]} < {p[3]})"
    ),
    st.tuples(numbers, st.sampled_from(["<", ">=", "==", "!="]), numbers).map(
        lambda p: f"({p[0]} {p[1]} {p[2]})"
    ),
    st.tuples(texts, st.sampled_from(["contains", "startsWith"]), texts).map(
        lambda p: f"{p[0]}.{p[1]}({p[2]})"
    ),
    st.tuples(texts, texts).map(lambda p: f"({p[0]} + {p[1]} < {p[1]})"),
    st.sampled_from(["true", "false", "has(self.missing)", "self.missing == 1", "2 in self.l"]),
)
expressions = st.recursive(facts, _combined, max_leaves=8)


@given(text=expressions)
def test_random_expressions_agree(text: str) -> None:
    whole = f"[2].all(x, {text})"  # so that ``x`` is always something

    assert ours(whole) == theirs(whole)


@given(text=expressions)
def test_a_run_never_goes_far_beyond_its_limit(text: str) -> None:
    program = Program(CHECKER.check(f"[2].all(x, {text})"), CHECKER)
    whole = program.run((VALUE, None), 1_000_000).cost

    with pytest.raises(CostExceeded):
        program.run((VALUE, None), whole - 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("self.m.transformMap(k, v, v + 1)", {"a": 2, "b": 3}),
        ("self.m.transformMap(k, v, v > 1, v + 1)", {"b": 3}),
        ("self.m.transformMapEntry(k, v, {v: k})", {1: "a", 2: "b"}),
        ("self.m.transformMapEntry(k, v, {'x': k})", "error"),
        ("{'a': 1, 'a': 2}", {"a": 2}),
        ("string(timestamp('2024-01-01T00:00:00.5Z'))", "2024-01-01T00:00:00.5Z"),
        ("1 < 2.5 && 3u > 2 && 2.0 <= 2u", True),
    ],
)
def test_what_the_oracle_cannot_do(text: str, expected: Any) -> None:
    assert ours(text) == expected


@pytest.mark.parametrize("text", ["1 +", "[1, 'a']", "proreus.rules.Object0{}", "nothing(1)"])
def test_what_is_not_well_formed_is_refused(text: str) -> None:
    with pytest.raises(CheckError):
        CHECKER.check(text)


def test_an_expression_nested_very_deep_is_refused_or_runs() -> None:
    deep = "(" * 150 + "1" + " + 1)" * 150
    flat = " + ".join(["1"] * 400)

    for text in (f"{deep} == 151", f"{flat} == 400"):
        try:
            assert ours(text) in (True, "error")
        except CheckError as error:
            assert "nested" in str(error) or "recursion" in str(error)
