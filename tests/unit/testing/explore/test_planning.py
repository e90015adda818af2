"""Plans follow from what was seen when nothing went wrong."""

from __future__ import annotations

import random

from proreus.testing.explore.faults import Plan
from proreus.testing.explore.planning import among, combined, plans_for
from proreus.testing.explore.points import EventPoint, WritePoint
from proreus.testing.explore.shrinking import shrunk
from proreus.testing.explore.trace import Entry, Saw, Settled, Trace, Wrote

ME = "program"
POD = "default/a"


def wrote(verb: str, *, status: int = 200, resource: str = "pods", version: str = "") -> Wrote:
    is_guarded = verb == "update"
    return Wrote(0, ME, WritePoint(verb, resource, POD), status, version, is_guarded=is_guarded)


def saw(type_: str, nth: int = 1, version: str = "1", stream: int = 1) -> Saw:
    return Saw(0, ME, EventPoint(type_, "pods", POD, nth), version, stream)


def names(*entries: Entry) -> list[str]:
    return [str(plan) for plan in plans_for(Trace(list(entries)), ME)]


def test_every_write_is_crashed_around_failed_and_lost() -> None:
    assert names(wrote("create", status=201)) == [
        "crash before create pods default/a",
        "crash after create pods default/a",
        "internal error at create pods default/a",
        "answer lost at create pods default/a",
        "restart after create pods default/a on the state of quiet moment 0",
    ]


def test_only_a_write_that_names_a_version_can_conflict() -> None:
    assert "conflict at update pods default/a" in names(wrote("update"))
    assert "conflict at patch pods default/a" not in names(wrote("patch"))


def test_a_write_that_was_refused_is_left_alone() -> None:
    assert names(wrote("update", status=409)) == []


def test_leases_and_events_are_no_matter_but_a_lease_makes_leaders_change() -> None:
    lease = wrote("update", resource="leases.coordination.k8s.io")
    event = wrote("create", resource="events", status=201)

    plans = names(lease, event, wrote("patch"))

    assert "leader change at patch pods default/a" in plans
    assert not [plan for plan in plans if "leases" in plan or "events" in plan]


def test_an_event_is_hidden_only_if_a_newer_one_of_its_object_follows_on_its_watch() -> None:
    alone = names(saw("ADDED"), saw("MODIFIED", stream=2))
    followed = names(saw("ADDED"), saw("MODIFIED", version="2"))

    assert not [plan for plan in alone if plan.startswith("hide")]
    assert "hide ADDED pods default/a until MODIFIED pods default/a" in followed


def test_what_the_program_wrote_itself_is_not_awaited() -> None:
    own = wrote("update", version="7")
    trace = Trace([saw("ADDED"), own, saw("MODIFIED", version="7")])

    hiding = [str(plan) for plan in plans_for(trace, ME) if "hide" in str(plan)]
    found = among(plans_for(trace, ME), hiding[0])

    assert found is not None
    assert not getattr(found.faults[0], "is_awaited", True)


def test_a_restart_at_a_quiet_moment_is_tried_on_every_earlier_one() -> None:
    assert names(Settled(0, 1), Settled(0, 2)) == [
        "restart at quiet moment 1 on the state of quiet moment 0",
        "restart at quiet moment 2 on the state of quiet moment 0",
        "restart at quiet moment 2 on the state of quiet moment 1",
    ]


def test_combinations_are_the_same_for_the_same_seed() -> None:
    plans = plans_for(Trace([wrote("create", status=201), saw("ADDED")]), ME)

    one, other = (combined(plans, 2, 5, random.Random(7)) for _ in range(2))

    assert one == other
    assert len(set(one)) == 5
    assert all(len(plan.faults) == 2 for plan in one)


def test_a_plan_of_several_faults_is_found_by_its_name() -> None:
    plans = plans_for(Trace([wrote("create", status=201)]), ME)
    pair = Plan(plans[0].faults + plans[2].faults)

    assert among(plans, str(pair)) == pair
    assert among(plans, "crash before nothing") is None


async def test_a_plan_is_shrunk_to_the_faults_that_matter() -> None:
    plans = plans_for(Trace([wrote("create", status=201)]), ME)
    whole = Plan(tuple(fault for plan in plans for fault in plan.faults))
    needed = {whole.faults[1], whole.faults[3]}

    async def still_fails(plan: Plan) -> bool:
        return needed <= set(plan.faults)

    assert set((await shrunk(whole, still_fails)).faults) == needed
