"""What of a living pod may change, and what may be reported of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import pod, status_errors, updated

KEPT = "spec.tolerations: Forbidden: existing toleration can not be modified except its "
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ONLY_IMAGES = "spec: Forbidden: pod updates may not change fields other than"


def test_a_toleration_stays_as_it_is_but_for_its_seconds() -> None:
    toleration = {"key": "k", "operator": "Exists", "effect": "NoExecute"}
    old = pod(tolerations=[{**toleration, "tolerationSeconds": 5}])
    others = old["spec"]["tolerations"][1:]

    longer = {"tolerations": [{**toleration, "tolerationSeconds": 9}, *others]}
    other = {"tolerations": [{**toleration, "key": "x"}, *others]}

    assert updated(old, {"spec": longer})[1] == []
    assert updated(old, {"spec": other})[1] == [f"{KEPT}tolerationSeconds"]


def test_gates_may_only_be_taken_away() -> None:
    old = pod(schedulingGates=[{"name": "a"}, {"name": "b"}])

    assert updated(old, {"spec": {"schedulingGates": [{"name": "b"}]}})[1] == []
    assert updated(old, {"spec": {"schedulingGates": [{"name": "b"}, {"name": "c"}]}})[1] == [
        "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new "
        "scheduling gate 'c'"
    ]


def affinity(*terms: list[str]) -> dict[str, Any]:
    selectors = [
        {"matchExpressions": [{"key": key, "operator": "Exists"} for key in keys]} for keys in terms
    ]
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": selectors}}}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"nodeSelector": {"b": "2"}}, ""),
        ({"nodeSelector": {"a": "2"}},
         'spec.nodeSelector: Invalid value: {"a":"2"}: only additions to spec.nodeSelector are '
         "allowed (no mutations or deletions)"),
        ({"affinity": affinity(["x", "y"])}, ""),
        ({"affinity": affinity(["x"], ["y"])},
         f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms: Invalid value: "
         '[{"MatchExpressions":[{"Key":"x","Operator":"Exists","Values":null}],"MatchFields":null},'
         '{"MatchExpressions":[{"Key":"y","Operator":"Exists","Values":null}],"MatchFields":null}]'
         ": no additions/deletions to non-empty NodeSelectorTerms list are allowed"),
        ({"affinity": affinity(["y"])},
         f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]: Invalid value: "
         '{"MatchExpressions":[{"Key":"y","Operator":"Exists","Values":null}],"MatchFields":null}: '
         "only additions are allowed (no mutations or deletions)"),
    ],
)  # fmt: skip
def test_a_gated_pod_may_narrow_its_choice_of_nodes(change: dict[str, Any], problem: str) -> None:
    old = pod(schedulingGates=[{"name": "g"}], nodeSelector={"a": "1"}, affinity=affinity(["x"]))

    assert updated(old, {"spec": change})[1] == ([problem] if problem else [])


def test_a_gated_pod_may_not_choose_its_neighbours_anew() -> None:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}
    change = {"affinity": {"podAffinity": {REQUIRED: [term]}}}

    (problem,) = updated(pod(schedulingGates=[{"name": "g"}]), {"spec": change})[1]

    assert problem.startswith(ONLY_IMAGES)


def test_no_pod_becomes_the_image_of_a_static_one() -> None:
    key = "kubernetes.io/config.mirror"

    change = {"metadata": {"annotations": {key: "x"}}}

    assert updated(pod(nodeName="n"), change)[1] == [
        f"metadata.annotations[{key}]: Forbidden: may not add mirror pod annotation"
    ]


def ended(code: int) -> dict[str, Any]:
    return {"containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": code}}}]}


@pytest.mark.parametrize(
    ("policy", "code", "comes_back"),
    [("Always", 0, True), ("OnFailure", 1, True), ("OnFailure", 0, False), ("Never", 1, False)],
)
def test_a_container_that_is_not_restarted_stays_ended(
    policy: str, code: int, *, comes_back: bool
) -> None:
    old = pod(restartPolicy=policy) | {"status": ended(code)}
    running = {"containerStatuses": [{"name": "c", "state": {"running": {}}}]}

    why = "Forbidden: may not be transitioned to non-terminated state"
    assert status_errors(old, running) == (
        [] if comes_back else [f"status.containerStatuses[0].state: {why}"]
    )


@pytest.mark.parametrize(
    ("status", "problems"),
    [
        ({"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}, []),
        ({"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]},
         ['status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: may specify no '
          "more than one IP for each IP family"]),
        ({"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.2"}]},
         ['status.hostIPs[0].ip: Invalid value: "10.0.0.2": must be equal to `hostIP`']),
        ({"resourceClaimStatuses": [{"name": "x"}]},
         ['status.resourceClaimStatuses[0].name: Invalid value: "x": must match the name of an '
          "entry in `spec.resourceClaims`"]),
    ],
)  # fmt: skip
def test_a_status_is_validated(status: dict[str, Any], problems: list[str]) -> None:
    assert status_errors(pod(), status) == problems
