"""A run as a picture: every figure that has a target, as a share of its allowance."""

from __future__ import annotations

from benchmarks._results import svg
from benchmarks._results.record import Results, Run, keyed
from benchmarks._results.verdict import Verdict, ratio, verdict

_LONGEST = 2.0
_COLOURS = {
    Verdict.OK: svg.COLOURS[2],
    Verdict.SLOW: svg.COLOURS[4],
    Verdict.MISSED: svg.COLOURS[5],
}


def ratios(results: Results, before: Results) -> str:
    """At the reference pace. Beyond the dashed line a target is missed; ticks are the last run."""
    groups = {run.benchmark: _bars(run, before.of(run.benchmark)) for run in results.runs}
    shown = {name: members for name, members in groups.items() if members}
    title = "Share of the target at the reference pace (tick: the run before)"
    return svg.bars(title, shown, 1.0, _LONGEST)


def _bars(run: Run, before: Run | None) -> list[svg.Bar]:
    known = dict(keyed(before.figures)) if before is not None else {}
    found = []
    for key, figure in keyed(run.figures):
        share = ratio(figure, run.pace.ms)
        if share is None:
            continue
        old = known.get(key)
        mark = ratio(old, before.pace.ms) if old is not None and before is not None else None
        colour = _COLOURS[verdict(figure, run.pace.ms)]
        found.append(svg.Bar(figure.question, share, colour, mark))
    return found
