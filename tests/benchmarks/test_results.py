"""Results are kept in files that a later run reads."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks._results import plots, record, svg, tables
from benchmarks._results.record import Figure, Results, UnreadableResults
from benchmarks.report import Row, row_of
from tests.benchmarks.figures import results, run

WRITE = Figure("a write, CPU", 12.0, "µs", target=10.0, noise=0.1)
READ = Figure("a read, CPU", 3.0, "µs", target=10.0, noise=0.1)


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    kept = results(WRITE, READ)

    path = record.keep(kept, tmp_path)

    assert path.name == "2026-01-02T030405Z-abc1234.json"
    assert record.read(path) == kept == record.last(tmp_path)


def test_the_latest_results_have_every_benchmarks_newest_run(tmp_path: Path) -> None:
    record.keep(Results((run(WRITE, name="storage"), run(READ, name="views"))), tmp_path)

    record.keep(Results((run(READ, name="storage"), run(name="views", failure="ended"))), tmp_path)

    latest = record.last(tmp_path)
    assert [one.benchmark for one in latest.runs] == ["storage", "views"]
    assert [one.figures for one in latest.runs] == [(READ,), (READ,)]


@pytest.mark.parametrize("text", ['{"format": 99, "runs": []}', "{", '{"runs": [{}]}'])
def test_a_file_of_another_format_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)

    with pytest.raises(UnreadableResults, match=r"results\.json"):
        record.read(path)


def test_of_repeated_runs_the_middle_counts_and_their_spread_is_noise() -> None:
    values = (8.0, 10.0, 14.0)
    repeated = [run(Figure("q", value, "µs", noise=0.1)) for value in values]

    (figure,) = record.middle(repeated).figures

    assert (figure.value, figure.noise) == (10.0, 0.3)


def test_a_benchmark_that_failed_once_has_failed() -> None:
    assert record.middle([run(WRITE), run(failure="ended")]).failure == "ended"


def test_a_row_is_at_least_as_noisy_as_its_kind_usually_is() -> None:
    assert Figure.of(Row("q", 1, "ms")).noise == 0.10
    assert Figure.of(Row("q", 1, "ms", spread=0.4)).noise == 0.4
    assert Figure.of(Row("q", 1, "/s of CPU")).noise == 0.15
    assert Figure.of(Row("q", 1, "MB")).noise == 0.03


def test_a_row_of_rounds_is_the_middle_one_and_says_how_far_they_lay_apart() -> None:
    row = row_of("q", [9.0, 10.0, 10.0, 10.0, 50.0], "/s", 5.0, higher_is_better=True)

    assert (row.value, row.target, row.higher_is_better) == (10.0, 5.0, True)
    assert 0 < row.spread < 2.1


def test_a_table_has_ratios_verdicts_and_peers() -> None:
    peer = Figure(WRITE.question, 6.0, "µs", peer="etcd")

    table = tables.run_table(results(WRITE, peer, slower=2.0).runs[0])

    head, _, ours, theirs = table.splitlines()
    assert "pace 68.0 ms (2.00 × the reference's 34 ms)" in head
    assert ours.split()[-6:] == ["<=", "10", "1.20", "0.60", "µs", "slow"]
    assert theirs.strip().startswith("etcd: a write, CPU")
    assert theirs.endswith("ours is 2.00 ×")


def test_a_picture_has_a_bar_for_every_figure_that_has_a_target() -> None:
    plain = Figure("no target", 1.0, "µs")

    picture = plots.ratios(results(WRITE, plain, READ), results(WRITE))

    texts = [
        text.text for text in ElementTree.fromstring(picture).iter() if text.tag[-4:] == "text"
    ]
    assert {"storage", WRITE.question, READ.question, "1.20", "0.30"} <= set(texts)
    assert plain.question not in texts


@pytest.mark.parametrize("is_logarithmic", [False, True])
def test_a_chart_of_lines_keeps_all_points_inside(is_logarithmic: bool) -> None:
    points = [(1.0, 0.02), (10.0, 300.0), (100.0, 7e6)]
    drawn = [svg.Line("a & b", points), svg.Line("a & b", points, is_joined=False)]

    picture = svg.lines("t < u", svg.Axes("nodes", "MB", is_logarithmic), drawn)

    root = ElementTree.fromstring(picture)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    places = [
        (float(c.attrib["cx"]), float(c.attrib["cy"])) for c in root if c.tag[-6:] == "circle"
    ]
    assert len(places) == 3
    assert all(0 < x < width and 0 < y < height for x, y in places)
