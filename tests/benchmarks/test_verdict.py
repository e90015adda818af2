"""Targets, and changes between two runs."""

from __future__ import annotations

import pytest

from benchmarks._results.pace import REFERENCE_MS, Pace, Scaling, scaling_of
from benchmarks._results.record import Figure, Results
from benchmarks._results.verdict import (
    Comparison,
    Verdict,
    comparisons,
    missed,
    ratio,
    verdict,
)
from tests.benchmarks.figures import results, run

COST = Figure("a write, CPU", 12.0, "µs", target=10.0, noise=0.1)
RATE = Figure("writes", 900.0, "writes/s", target=1_000.0, higher_is_better=True, noise=0.1)
SIZE = Figure("memory", 11.0, "MB", target=10.0, noise=0.03)


def compared(new: Results, old: Results) -> Comparison:
    (one,) = comparisons(new, old)
    return one


@pytest.mark.parametrize("figure", [COST, RATE, SIZE])
def test_above_one_a_ratio_says_that_the_target_is_missed(figure: Figure) -> None:
    share = ratio(figure)

    assert share is not None and share > 1
    assert verdict(figure, REFERENCE_MS) is Verdict.MISSED


@pytest.mark.parametrize("figure", [COST, RATE])
def test_a_target_that_a_slow_machine_misses_is_met_at_the_reference_pace(figure: Figure) -> None:
    slow_machine = results(figure, slower=2.0)

    assert verdict(figure, 2 * REFERENCE_MS) is Verdict.SLOW
    assert missed(slow_machine) == []


def test_a_slow_machine_is_no_excuse_for_memory() -> None:
    assert missed(results(SIZE, slower=2.0)) == [("storage", SIZE)]


def test_a_target_that_is_met_as_measured_is_met_on_a_fast_machine_too() -> None:
    met = Figure("a write, CPU", 9.0, "µs", target=10.0)

    assert verdict(met, REFERENCE_MS / 2) is Verdict.OK


def test_a_figure_without_a_target_has_no_verdict() -> None:
    assert verdict(Figure("a pod", 3_700, "B"), REFERENCE_MS) is Verdict.NONE


def test_a_change_within_the_noise_is_none() -> None:
    slightly = Figure(COST.question, 13.0, "µs", noise=0.1)

    assert compared(results(slightly), results(COST)).word == ""


@pytest.mark.parametrize(
    ("figure", "value", "word"),
    [(COST, 24.0, "WORSE"), (COST, 6.0, "better"), (RATE, 400.0, "WORSE"), (RATE, 2e3, "better")],
)
def test_a_change_beyond_the_noise_is_named(figure: Figure, value: float, word: str) -> None:
    new = Figure(figure.question, value, figure.unit, None, figure.higher_is_better, 0.1)

    assert compared(results(new), results(figure)).word == word


def test_runs_on_machines_of_different_pace_are_compared_at_the_same() -> None:
    twice = Figure(COST.question, 2 * COST.value, "µs", noise=0.1)

    one = compared(results(twice, slower=2.0), results(COST))

    assert (one.ratio, one.word) == (1.0, "")


def test_on_a_restless_machine_less_counts_as_a_change() -> None:
    half_more = Figure(COST.question, 1.5 * COST.value, "µs", noise=0.1)
    restless = results(half_more, spread=0.6)

    assert compared(restless, results(COST)).word == ""
    assert compared(results(half_more), results(COST)).word == "WORSE"


def test_figures_are_compared_with_those_of_the_same_question_peer_and_unit() -> None:
    peer = Figure(COST.question, 50.0, "µs", peer="etcd")
    other_unit = Figure(COST.question, 0.012, "ms")

    assert list(comparisons(results(peer), results(COST))) == []
    assert list(comparisons(results(other_unit), results(COST))) == []
    assert list(comparisons(results(COST), Results((run(COST, name="views"),)))) == []


def test_questions_that_are_asked_twice_are_compared_in_order() -> None:
    first, second = Figure("CPU of each", 1.0, "µs"), Figure("CPU of each", 5.0, "µs")

    found = list(comparisons(results(first, second), results(first, second)))

    assert [one.ratio for one in found] == [1.0, 1.0]


def test_pace_is_the_best_sample_and_how_far_the_middle_lay_above_it() -> None:
    assert Pace.of([30.0, 36.0, 60.0]) == Pace(30.0, 36.0 / 30.0 - 1)


@pytest.mark.parametrize(
    ("units", "scaling"),
    [
        (("ms", "µs", "s of CPU", "ms CPU"), Scaling.COST),
        (("/s", "writes/s", "/s of CPU", "per s of CPU"), Scaling.RATE),
        (("MB", "B", "%", "% of a core", ""), Scaling.NONE),
    ],
)
def test_a_unit_says_whether_a_figure_follows_the_pace(
    units: tuple[str, ...], scaling: Scaling
) -> None:
    assert {scaling_of(unit) for unit in units} == {scaling}
