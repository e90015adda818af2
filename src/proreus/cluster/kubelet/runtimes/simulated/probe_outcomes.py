"""What exec probes of simulated containers find, if their commands are understood. Pure.

An outcome depends on the files that the container's script has written by then, and on nothing
else, so it holds until the next of them changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from proreus.cluster.kubelet.runtimes.pod_spec.probes import ProbeSpec
from proreus.cluster.kubelet.runtimes.simulated.shell_files import FileChange

_CHANGES_MAX = 50
Ask = Callable[[float], bool | None]
"""Whether the probe would succeed at a time after the start; None: that is not known."""


def ready_after(probe: ProbeSpec, changes: Sequence[FileChange], ask: Ask) -> float | None:
    """When it succeeds; infinite: never. None: not known, or it would not stay so."""
    found = math.inf
    for begin, end, is_success in _outcomes(changes, ask):
        if is_success is None or (not is_success and found < math.inf):
            return None
        at = _first(probe, begin) + (probe.successes - 1) * probe.period_s
        if is_success and found == math.inf and at < end:
            found = at
    return found


def killed_after(probe: ProbeSpec, changes: Sequence[FileChange], ask: Ask) -> float | None:
    """When it has failed often enough; None: never, or not known."""
    failing_since: float | None = None
    for begin, end, is_success in _outcomes(changes, ask):
        if is_success is not False:
            failing_since = None
            continue
        failing_since = begin if failing_since is None else failing_since
        at = _first(probe, failing_since) + (probe.failures - 1) * probe.period_s
        if at < end:
            return at
    return None


def failures_of(probe: ProbeSpec, changes: Sequence[FileChange], ask: Ask) -> tuple[float, ...]:
    """When it fails, as often as it takes to be believed; not those after."""
    found: list[float] = []
    for begin, end, is_success in _outcomes(changes, ask):
        at = _first(probe, begin)
        while is_success is False and at < end and len(found) < probe.failures:
            found.append(at)
            at += probe.period_s
        if is_success and len(found) < probe.failures and probe.kind == "liveness":
            found.clear()  # a run that was broken says nothing
    return tuple(found)


def _outcomes(
    changes: Sequence[FileChange], ask: Ask
) -> Sequence[tuple[float, float, bool | None]]:
    times = sorted({0.0, *(change.at_s for change in changes)})
    if len(times) > _CHANGES_MAX:
        return [(0.0, math.inf, None)]
    return [(begin, end, ask(begin)) for begin, end in pairwise([*times, math.inf])]


def _first(probe: ProbeSpec, since: float) -> float:
    """The first time that it is asked, at ``since`` or later."""
    periods = max(0, math.ceil((since - probe.initial_delay_s) / probe.period_s))
    return probe.initial_delay_s + periods * probe.period_s
