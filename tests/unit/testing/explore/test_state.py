"""Invariants are asked at every revision, and a report says what happened."""

from __future__ import annotations

from proreus.api.object import KubeObject
from proreus.testing.explore.faults import Crash, Plan
from proreus.testing.explore.points import WritePoint
from proreus.testing.explore.report import Finding
from proreus.testing.explore.state import State, StateChange, violations
from proreus.testing.explore.trace import Struck, Trace, Wrote


def pod(name: str, role: str = "") -> KubeObject:
    metadata = {"name": name, "namespace": "default", "labels": {"role": role}}
    return KubeObject.from_dict({"kind": "Pod", "apiVersion": "v1", "metadata": metadata})


def change(revision: int, old: KubeObject | None, new: KubeObject | None) -> StateChange:
    named = new or old
    assert named is not None
    return StateChange(revision, ("pods", named.key), old, new)


def never_two_primaries(state: State) -> bool:
    return sum(one.labels.get("role") == "primary" for one in state.all("pods")) <= 1


def test_a_state_in_between_that_must_never_be_is_found() -> None:
    one, other = pod("a", "primary"), pod("b", "primary")
    changes = [
        change(2, None, one),
        change(3, None, other),
        change(4, one, None),
    ]

    assert violations(State({}), changes, [never_two_primaries]) == [
        "never two primaries, after the creation of pods default/b (revision 3)"
    ]


def test_an_invariant_may_assert_and_look_at_what_was_deleted() -> None:
    def keeps_a(state: State) -> None:
        gone = state.deleted("pods")
        assert gone is None or gone.name != "a", "a must stay"

    beginning = State({("pods", "default/a"): pod("a")})
    found = violations(beginning, [change(2, pod("a"), None)], [keeps_a])

    assert found == ["keeps a: a must stay, after the deletion of pods default/a (revision 2)"]


def test_an_invariant_that_holds_is_silent() -> None:
    assert violations(State({}), [change(2, None, pod("a"))], [never_two_primaries]) == []


def test_a_story_has_the_plan_the_timeline_the_diff_and_how_to_run_it_again() -> None:
    write = WritePoint("create", "pods", "default/a")
    plan = Plan((Crash(write, is_after=True),))
    trace = Trace([Struck(1.0, str(plan)), Wrote(1.0, "program", write, 201)])
    finding = Finding(plan, ("never two",), ("- Pod default/a is missing",), trace)

    report = str(finding)

    assert report.splitlines() == [
        "What went wrong: crash after create pods default/a",
        "",
        "What happened around it:",
        "      1.000 s  *** crash after create pods default/a",
        "      1.000 s  program: create pods default/a → created",
        "",
        "What must never be:",
        "  never two",
        "",
        "How the end differs from a run in which nothing went wrong:",
        "  - Pod default/a is missing",
        "",
        'Run it alone: PROREUS_EXPLORE_PLAN="crash after create pods default/a"',
    ]
