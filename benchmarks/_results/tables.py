"""Results as text, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks._results import pace
from benchmarks._results.record import Figure, Run
from benchmarks._results.verdict import Comparison, ratio, verdict

_WIDTH = 76


def run_table(run: Run) -> str:
    """Ratios above 1 miss their target: as measured, and at the reference pace."""
    slower = run.pace.ms / pace.REFERENCE_MS
    lines = [
        f"{run.benchmark}: pace {run.pace.ms:.1f} ms ({slower:.2f} × the reference's "
        f"{pace.REFERENCE_MS:g} ms), load {run.load:.1f}, {run.wall_s:.0f} s",
        f"{'question':<{_WIDTH}} {'measured':>12} {'target':>12} {'ratio':>6} {'paced':>6}  unit",
    ]
    if run.failure:
        return f"{lines[0]}\nFAILED: {run.failure}"
    ours = {figure.question: figure.value for figure in run.figures if not figure.peer}
    lines += [_figure_line(figure, run.pace.ms, ours) for figure in run.figures]
    return "\n".join(lines)


def _figure_line(figure: Figure, pace_ms: float, ours: dict[str, float]) -> str:
    sign = ">=" if figure.higher_is_better else "<="
    target = "" if figure.target is None else f"{sign} {figure.target:,.6g}"
    question = f"  {figure.peer}: {figure.question}" if figure.peer else figure.question
    own = ours.get(figure.question)
    versus = f"ours is {own / figure.value:.2f} ×" if figure.peer and own and figure.value else ""
    ratios = " ".join(
        f"{'' if share is None else f'{share:.2f}':>6}"
        for share in (ratio(figure), ratio(figure, pace_ms))
    )
    word = verdict(figure, pace_ms).value or versus
    return (
        f"{question:<{_WIDTH}} {figure.value:>12,.6g} {target:>12} {ratios}  {figure.unit} {word}"
    ).rstrip()


def comparison_table(compared: Iterable[Comparison]) -> str:
    """Old and new at the reference pace; a word stands where the change exceeds the noise."""
    lines = [f"{'question':<{_WIDTH}} {'old':>12} {'new':>12} {'ratio':>6} {'noise':>6}  unit"]
    for one in compared:
        who = f"{one.figure.peer}: " if one.figure.peer else ""
        question = f"{one.benchmark}: {who}{one.figure.question}"
        lines.append(
            f"{question:<{_WIDTH}} {one.old:>12,.6g} {one.new:>12,.6g} {one.ratio:>6.2f} "
            f"{one.noise:>6.0%}  {one.figure.unit} {one.word}".rstrip()
        )
    return "\n".join(lines)
