"""What comes of runs: the undisturbed ones, what is expected of others, and how one differs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from proreus.api.json_types import JsonObject
from proreus.testing.explore.difference import differences
from proreus.testing.explore.faults import Plan
from proreus.testing.explore.normalization import Chance, normalized
from proreus.testing.explore.planning import combined
from proreus.testing.explore.report import Finding
from proreus.testing.explore.settings import Settings
from proreus.testing.explore.state import Key
from proreus.testing.explore.trace import Trace


class Unusable(AssertionError):
    """The test cannot be explored: it fails when nothing goes wrong."""


@dataclass(frozen=True, slots=True)
class PlanRun:
    """What came of one run. ``failure``: what the test, or a program, raised."""

    trace: Trace
    end: tuple[JsonObject, ...]
    gone: tuple[Key, ...]
    broken: tuple[str, ...]
    failure: BaseException | None


@dataclass(frozen=True, slots=True)
class Learned:
    """What the undisturbed runs say: what to do, and what to expect."""

    plans: tuple[Plan, ...]
    expected: PlanRun
    chance: Chance


@dataclass(slots=True)
class Report:
    """``planned`` many plans, of which ``run_count`` were run."""

    planned: int = 0
    run_count: int = 0
    findings: list[Finding] = field(default_factory=list)

    def __str__(self) -> str:
        found = f"{len(self.findings)} of them" if self.findings else "none of them"
        return f"{self.run_count} of {self.planned} plans were run; {found} made a difference"


def finding_in(plan: Plan, run: PlanRun, learned: Learned) -> Finding | None:
    """Compare a run with what is expected."""
    expected = learned.expected
    diff = differences(
        normalized(expected.end, learned.chance), normalized(run.end, learned.chance)
    )
    diff += [f"- {kind} {key} is missing" for kind, key in set(run.gone) - set(expected.gone)]
    diff += [f"+ {kind} {key} is still there" for kind, key in set(expected.gone) - set(run.gone)]
    broken = list(run.broken)
    if run.failure is not None:
        broken.append(f"{type(run.failure).__name__}: {run.failure}")
    if not diff and not broken:
        return None
    return Finding(plan, tuple(broken), tuple(diff), run.trace)


def chosen(plans: Sequence[Plan], settings: Settings) -> list[Plan]:
    """Those to be run, of all with one fault."""
    found, chance = list(plans), random.Random(settings.seed)
    if settings.faults_at_once > 1:
        found += combined(plans, settings.faults_at_once, settings.combinations, chance)
    if settings.plans_max is None or settings.plans_max >= len(found):
        return found
    places = sorted(chance.sample(range(len(found)), settings.plans_max))
    return [found[place] for place in places]


def check_undisturbed(run: PlanRun) -> None:
    if run.failure is not None:
        raise Unusable(f"it fails when nothing goes wrong: {run.failure}") from run.failure
    if run.broken:
        raise Unusable(f"an invariant is broken when nothing goes wrong: {run.broken[0]}")
