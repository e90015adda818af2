"""Which fields of conditions a kubelet writes."""

from __future__ import annotations

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.cluster.kubelet.runtimes.runtime import PodAddresses
from proreus.cluster.kubelet.runtimes.states import RUNNING, PodReport
from proreus.cluster.kubelet.status import pod_status


def ready_condition(*known: JsonObject) -> JsonObject:
    pod = KubeObject.from_dict(
        {
            "kind": "Pod",
            "metadata": {"name": "a", "uid": "u", "generation": 1},
            "status": {"conditions": list(known)},
        }
    )
    report = PodReport(RUNNING, 0.0, init=[], containers=[])
    status = pod_status(pod, report, 0.0, addresses=PodAddresses("", ""), allocated={})
    [found] = [one for one in status["conditions"] if one["type"] == "Ready"]
    assert isinstance(found, dict)
    return found


def test_a_new_condition_is_written_as_it_is_stored() -> None:
    assert ready_condition() == {
        "type": "Ready",
        "status": "True",
        "observedGeneration": 1,
        "lastProbeTime": None,
        "lastTransitionTime": "1970-01-01T00:00:00Z",
    }


def test_of_a_condition_that_is_there_the_probe_time_is_not_removed() -> None:
    unready = {"type": "Ready", "status": "False", "lastProbeTime": None}

    assert "lastProbeTime" not in ready_condition(unready)


def test_a_reason_that_holds_no_more_is_removed() -> None:
    unready = {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "…"}

    found = ready_condition(unready)

    assert found["status"] == "True"
    assert (found["reason"], found["message"]) == (None, None)
