"""Whatever the clock says, what has happened lies in the past."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time, parse_time
from proreus.cluster.kubelet.runtimes.clock_skew import without_future_times
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import read_pod
from proreus.cluster.kubelet.runtimes.process.restore import restore
from proreus.cluster.kubelet.runtimes.simulated.plan import read_plan
from proreus.cluster.kubelet.runtimes.simulated.state import SimulatedPod
from proreus.cluster.kubelet.runtimes.states import CRASH_LOOP

NOW = 1_767_225_600.0
TWO_HOURS_S = 7200.0
moments = st.floats(NOW - 1e6, NOW + 1e6)


def pod(**container: Any) -> KubeObject:
    stated = {"name": "c", "containerID": "x://1", **container}
    return KubeObject.from_dict(
        {
            "metadata": {"name": "p", "namespace": "d", "uid": "u"},
            "spec": {"containers": [{"name": "c", "image": "i"}], "activeDeadlineSeconds": 60},
            "status": {"startTime": stamp(TWO_HOURS_S), "containerStatuses": [stated]},
        }
    )


def stamp(ahead_s: float) -> str:
    return format_time(NOW + ahead_s)


def ended(ahead_s: float) -> dict[str, Any]:
    times = {"startedAt": stamp(ahead_s - 1), "finishedAt": stamp(ahead_s)}
    return {"terminated": {"exitCode": 1, **times}}


def looping(ahead_s: float) -> KubeObject:
    state = {"waiting": {"reason": CRASH_LOOP}}
    return pod(restartCount=1, state=state, lastState=ended(ahead_s))


def test_a_container_that_ran_when_the_clock_was_ahead_is_ready_at_once() -> None:
    found = pod(state={"running": {"startedAt": stamp(TWO_HOURS_S - 60)}})
    simulated = SimulatedPod(read_plan(found), NOW, without_future_times(found.get("status"), NOW))

    simulated.advance(NOW)

    assert simulated.phase == "Running"
    assert simulated.containers[0].is_ready(NOW)


def test_a_container_that_crashed_when_the_clock_was_ahead_starts_after_its_back_off() -> None:
    found = looping(TWO_HOURS_S)
    simulated = SimulatedPod(read_plan(found), NOW, without_future_times(found.get("status"), NOW))
    course = restore(read_pod(found), NOW)

    simulated.advance(NOW)

    assert simulated.next_due(NOW) == NOW + 10
    assert course.steps(NOW).due == NOW + 10
    assert course.begun <= NOW, "its deadline runs from then"


@given(moments, moments, moments)
def test_no_stamp_lies_ahead_and_their_distances_stay(one: float, two: float, now: float) -> None:
    first, last = sorted((one, two))
    times = {"startedAt": format_time(first), "finishedAt": format_time(last)}
    status = {
        "startTime": format_time(first),
        "containerStatuses": [{"name": "c", "state": {"terminated": times}, "lastState": {}}],
    }

    moved = without_future_times(status, now)

    said = moved["containerStatuses"][0]["state"]["terminated"]
    started, finished = parse_time(said["startedAt"]), parse_time(said["finishedAt"])
    assert finished <= now
    assert abs((finished - started) - (int(last) - int(first))) <= 1
    assert (moved is status) == (int(last) <= now)
