"""Reports a difference: the plan, the timeline around the fault, the diff. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proreus.testing.explore.faults import Plan
from proreus.testing.explore.trace import Entry, Struck, Trace

_AROUND = 8  # entries before and after a fault
_LINES_MAX = 40


@dataclass(frozen=True, slots=True)
class Finding:
    """A plan under which the program did not keep its promise. ``violations``: of invariants, and
    what the test itself complained about; ``diff``: of the final state."""

    plan: Plan
    violations: tuple[str, ...]
    diff: tuple[str, ...]
    trace: Trace

    def __str__(self) -> str:
        return report(self)


def report(finding: Finding) -> str:
    lines = [f"What went wrong: {finding.plan}", "", "What happened around it:"]
    lines += [f"  {line}" for line in _timeline(finding.trace.entries)]
    if finding.violations:
        lines += ["", "What must never be:"]
        lines += [f"  {one}" for one in _some(finding.violations)]
    if finding.diff:
        lines += ["", "How the end differs from a run in which nothing went wrong:"]
        lines += [f"  {line}" for line in _some(finding.diff)]
    lines += ["", f'Run it alone: PROREUS_EXPLORE_PLAN="{finding.plan}"']
    return "\n".join(lines)


def _timeline(entries: Sequence[Entry]) -> list[str]:
    struck = [place for place, one in enumerate(entries) if isinstance(one, Struck)]
    if not struck:
        return ["(the fault did not strike)"]
    shown = sorted(
        {
            near
            for place in struck
            for near in range(place - _AROUND, place + _AROUND + 1)
            if 0 <= near < len(entries)
        }
    )
    lines: list[str] = []
    for before, place in zip([shown[0] - 1, *shown], shown, strict=False):
        if place != before + 1:
            lines.append("…")
        lines.append(f"{entries[place].at_s:9.3f} s  {entries[place]}")
    if shown[-1] + 1 < len(entries):
        lines.append("…")
    return lines


def _some(lines: Sequence[str]) -> list[str]:
    if len(lines) <= _LINES_MAX:
        return list(lines)
    return [*lines[:_LINES_MAX], f"… and {len(lines) - _LINES_MAX} more"]
