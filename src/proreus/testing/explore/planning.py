"""What to try, from what was seen when nothing went wrong. Pure.

One fault per plan, in the order of the run. Leases and Events are left out: programs write them on
their own accord, and nothing depends on the second.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Iterator, Sequence

from proreus.testing.explore.faults import (
    Crash,
    Delay,
    Fail,
    Fault,
    Hide,
    LeaderChange,
    Plan,
    Repeat,
    Stale,
    WriteFailure,
)
from proreus.testing.explore.trace import Entry, Saw, Settled, Trace, Wrote

LEASES = "leases.coordination.k8s.io"
SIDE_ISSUES = frozenset({LEASES, "events", "events.events.k8s.io"})


def plans_for(trace: Trace, who: str) -> list[Plan]:
    """All plans with one fault for the program."""
    return [Plan((fault,)) for fault in dict.fromkeys(_faults(trace, who))]


def combined(plans: Sequence[Plan], size: int, count: int, chance: random.Random) -> list[Plan]:
    """Some plans of several faults, at random; the same for the same ``chance``."""
    singles = [fault for plan in plans for fault in plan.faults]
    found: dict[Plan, None] = {}
    for _ in range(count * 4):
        if len(found) >= count or len(singles) < size:
            break
        picked = sorted(chance.sample(range(len(singles)), size))
        found[Plan(tuple(singles[place] for place in picked))] = None
    return list(found)


def _faults(trace: Trace, who: str) -> Iterator[Fault]:
    seen = [one for one in trace.events(who) if not _is_aside(one)]
    own = {one.resource_version for one in trace.writes(who) if one.resource_version}
    has_lease = any(one.write.resource.startswith(LEASES) for one in trace.writes(who))
    quiet = 0
    for entry in trace.entries:
        if isinstance(entry, Settled):
            quiet = entry.number
            for view in range(quiet):
                yield Stale(view, entry.number)
        elif isinstance(entry, Wrote) and entry.who == who and _is_done(entry):
            yield from _at_write(entry, has_lease=has_lease)
            if quiet:
                yield Stale(quiet - 1, entry.write)
            yield Stale(quiet, entry.write)
        elif isinstance(entry, Saw) and entry.who == who and not _is_aside(entry):
            yield Delay(entry.event)
            yield Repeat(entry.event)
            if (newer := _next_of_same(seen, entry)) is not None:
                is_awaited = newer.resource_version not in own
                yield Hide(entry.event, newer.event, is_awaited)


def _at_write(wrote: Wrote, *, has_lease: bool) -> Iterator[Fault]:
    write = wrote.write
    yield Crash(write, is_after=False)
    yield Crash(write, is_after=True)
    if wrote.is_guarded and write.verb in ("update", "patch"):
        yield Fail(write, WriteFailure.CONFLICT)
    yield Fail(write, WriteFailure.ERROR)
    yield Fail(write, WriteFailure.LOST)
    if has_lease:
        yield LeaderChange(write)


def _next_of_same(seen: Sequence[Saw], this: Saw) -> Saw | None:
    later = itertools.dropwhile(lambda one: one is not this, seen)
    next(later, None)
    for one in later:
        if one.stream == this.stream and one.event.object == this.event.object:
            return one
    return None


def _is_done(entry: Wrote) -> bool:
    return 200 <= entry.status < 300 and not _is_aside(entry)


def _is_aside(entry: Entry) -> bool:
    if isinstance(entry, Wrote):
        return entry.write.resource.partition("/")[0] in SIDE_ISSUES
    return isinstance(entry, Saw) and entry.event.resource in SIDE_ISSUES


def among(plans: Collection[Plan], name: str) -> Plan | None:
    """The plan of this name; a name of several faults is put together of theirs."""
    by_name = {str(fault): fault for plan in plans for fault in plan.faults}
    parts = name.split(" + ")
    if not all(part in by_name for part in parts):
        return None
    return Plan(tuple(by_name[part] for part in parts))
