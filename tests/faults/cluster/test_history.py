"""The checker of histories sees what it is there to see."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from proreus.api.object import KubeObject
from tests.faults.cluster.history import PodEvent, Promise, final_state, violations

PROMISE = Promise(replicas=3, surge=1, unavailable=1, owners={"old", "new"})


class Story:
    """Makes events with growing versions."""

    def __init__(self) -> None:
        self._versions: Iterator[int] = count(1)
        self.events: list[PodEvent] = []
        self.before = [self.pod(f"old-{n}", "old", ready=True) for n in range(3)]

    def pod(
        self, name: str, owner: str, *, ready: bool = False, going: bool = False, phase: str = ""
    ) -> KubeObject:
        metadata = {
            "name": name,
            "uid": name,
            "resourceVersion": str(next(self._versions)),
            "ownerReferences": [{"uid": owner, "controller": True}],
            **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if going else {}),
        }
        condition = {"type": "Ready", "status": "True" if ready else "False"}
        status = {"phase": phase or "Running", "conditions": [condition]}
        return KubeObject.from_dict({"metadata": metadata, "status": status})

    def add(self, name: str, owner: str = "new") -> None:
        self.events.append(PodEvent("ADDED", self.pod(name, owner)))

    def ready(self, name: str, owner: str = "new") -> None:
        self.events.append(PodEvent("MODIFIED", self.pod(name, owner, ready=True)))

    def going(self, name: str, owner: str = "old") -> None:
        self.events.append(PodEvent("MODIFIED", self.pod(name, owner, ready=True, going=True)))

    def gone(self, name: str, owner: str = "old") -> None:
        self.events.append(PodEvent("DELETED", self.pod(name, owner, going=True)))

    def violations(self) -> list[str]:
        return violations(self.before, self.events, PROMISE)


def test_a_rollout_one_by_one_breaks_nothing() -> None:
    story = Story()
    for number in range(3):
        story.add(f"new-{number}")
        story.ready(f"new-{number}")
        story.going(f"old-{number}")
        story.gone(f"old-{number}")

    assert story.violations() == []
    assert set(final_state(story.before, story.events)) == {"new-0", "new-1", "new-2"}


def test_a_pod_too_many_is_seen() -> None:
    story = Story()
    story.add("new-0")
    story.add("new-1")

    assert story.violations() == ["at 5, ADDED new-1: 5 pods, at most 4 allowed"]


def test_a_pod_on_its_way_out_does_not_count_as_one_too_many() -> None:
    story = Story()
    story.add("new-0")
    story.going("old-0")
    story.add("new-1")

    assert story.violations() == []


def test_a_pod_too_few_is_seen_when_its_deletion_begins() -> None:
    story = Story()
    story.going("old-0")
    story.going("old-1")

    assert story.violations() == ["at 5, MODIFIED old-1: 1 available, at least 2 promised"]


def test_a_pod_that_stops_being_ready_is_not_available() -> None:
    story = Story()
    for name in ("old-0", "old-1"):
        story.events.append(PodEvent("MODIFIED", story.pod(name, "old", ready=False)))

    assert story.violations() == ["at 5, MODIFIED old-1: 1 available, at least 2 promised"]


def test_a_finished_pod_neither_counts_nor_serves() -> None:
    story = Story()
    for name in ("old-0", "old-1"):
        story.events.append(
            PodEvent("MODIFIED", story.pod(name, "old", ready=True, phase="Failed"))
        )

    assert story.violations() == ["at 5, MODIFIED old-1: 1 available, at least 2 promised"]


def test_a_violation_that_lasts_is_reported_for_every_event() -> None:
    story = Story()
    for number in range(3):
        story.add(f"new-{number}")

    assert len(story.violations()) == 2


def test_a_pod_of_somebody_else_or_of_nobody_is_seen() -> None:
    story = Story()
    story.add("new-0", owner="stranger")
    orphan = {"name": "new-0", "uid": "new-0", "resourceVersion": "9"}
    story.events.append(PodEvent("MODIFIED", KubeObject.from_dict({"metadata": orphan})))

    assert story.violations() == [
        "at 4, ADDED new-0: controlled by stranger",
        "at 9, MODIFIED new-0: controlled by 0 controllers",
    ]


def test_a_history_that_repeats_itself_is_seen() -> None:
    story = Story()
    story.add("new-0")
    story.events.append(story.events[0])

    assert story.violations() == [
        "at 4, ADDED new-0: sent after 4",
        "at 4, ADDED new-0: known already",
    ]


def test_a_history_with_a_hole_is_seen() -> None:
    story = Story()
    story.ready("new-0")

    assert story.violations() == ["at 4, MODIFIED new-0: not known before"]


def test_the_dead_stay_dead() -> None:
    story = Story()
    story.add("new-0")
    story.ready("new-0")
    story.going("old-0")
    story.gone("old-0")
    story.add("old-0", owner="old")

    assert story.violations() == ["at 8, ADDED old-0: was gone already"]
