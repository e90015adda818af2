"""What objects count for in quotas."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.group_version import GroupResource
from proreus.api.quota_usage import (
    CLAIMS,
    DEVICE_CLAIMS,
    PODS,
    SERVICES,
    applies_to,
    counted_by,
    usage_of,
)

CPU = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}


def pod(*containers: dict[str, Any], phase: str = "Pending", **spec: Any) -> dict[str, Any]:
    listed = [{"name": f"c{n}", "resources": one} for n, one in enumerate(containers)]
    return {"spec": {"containers": listed, **spec}, "status": {"phase": phase}}


def numbers(resource: GroupResource, obj: dict[str, Any]) -> dict[str, float]:
    return {name: float(amount) for name, amount in usage_of(resource, obj).items()}


def test_every_object_counts_under_its_resource() -> None:
    assert numbers(GroupResource("apps", "deployments"), {}) == {"count/deployments.apps": 1}
    assert numbers(GroupResource("", "secrets"), {}) == {"count/secrets": 1, "secrets": 1}


def test_a_pod_uses_what_its_containers_ask_for() -> None:
    used = numbers(PODS, pod(CPU, CPU, overhead={"cpu": "500m"}))
    assert (used["pods"], used["count/pods"]) == (1, 1)
    assert (used["cpu"], used["requests.cpu"], used["limits.cpu"]) == (2.5, 2.5, 4.5)


def test_starting_may_need_more_than_running() -> None:
    sidecar = {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
    greedy = {"name": "i", "resources": {"requests": {"cpu": "5"}}}
    assert numbers(PODS, pod(CPU, initContainers=[sidecar]))["cpu"] == 2
    assert numbers(PODS, pod(CPU, initContainers=[sidecar, greedy]))["cpu"] == 6
    assert numbers(PODS, pod(CPU, initContainers=[greedy, sidecar]))["cpu"] == 5


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_ended_is_only_an_object(phase: str) -> None:
    assert numbers(PODS, pod(CPU, phase=phase)) == {"count/pods": 1}


def test_extended_resources_and_huge_pages_have_their_names() -> None:
    asked = {"requests": {"example.com/gpu": "2", "hugepages-2Mi": "4Mi"}}
    used = numbers(PODS, pod(asked))
    assert used["requests.example.com/gpu"] == 2
    assert used["hugepages-2Mi"] == used["requests.hugepages-2Mi"] == 4 * 2**20


@pytest.mark.parametrize(
    ("spec", "balancers", "ports"),
    [
        ({"type": "ClusterIP"}, 0, 0),
        ({"type": "NodePort"}, 0, 2),
        ({"type": "LoadBalancer"}, 1, 2),
        ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}, 1, 1),
    ],
)
def test_a_service_uses_ports_and_balancers(
    spec: dict[str, Any], balancers: int, ports: int
) -> None:
    listed = [{"port": 1, "nodePort": 30000}, {"port": 2}]
    used = numbers(SERVICES, {"spec": {**spec, "ports": listed}})
    assert used["services"] == 1
    assert used.get("services.loadbalancers", 0) == balancers
    assert used.get("services.nodeports", 0) == ports


def test_a_claim_uses_storage_of_its_class() -> None:
    spec = {"storageClassName": "fast", "resources": {"requests": {"storage": "2Gi"}}}
    assert numbers(CLAIMS, {"spec": spec}) == {
        "count/persistentvolumeclaims": 1,
        "persistentvolumeclaims": 1,
        "requests.storage": 2 * 2**30,
        "fast.storageclass.storage.k8s.io/requests.storage": 2 * 2**30,
        "fast.storageclass.storage.k8s.io/persistentvolumeclaims": 1,
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pods", "pods"),
        ("cpu", "pods"),
        ("limits.memory", "pods"),
        ("requests.example.com/gpu", "pods"),
        ("hugepages-2Mi", "pods"),
        ("requests.storage", "persistentvolumeclaims"),
        ("fast.storageclass.storage.k8s.io/persistentvolumeclaims", "persistentvolumeclaims"),
        ("services.nodeports", "services"),
        ("configmaps", "configmaps"),
        ("count/deployments.apps", "deployments.apps"),
        ("count/widgets.example.com", "widgets.example.com"),
    ],
)
def test_a_name_reports_whose_objects_it_counts(name: str, expected: str) -> None:
    assert str(counted_by(name)) == expected


def affinity(**term: Any) -> dict[str, Any]:
    rules = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", **term}]}
    return pod(affinity={"podAffinity": rules})


@pytest.mark.parametrize(
    ("scope", "given", "expected"),
    [
        ("BestEffort", pod({}), True),
        ("BestEffort", pod(CPU), False),
        ("NotBestEffort", pod(CPU), True),
        ("Terminating", pod({}), False),
        ("Terminating", pod({}, activeDeadlineSeconds=5), True),
        ("NotTerminating", pod({}), True),
        ("PriorityClass", pod({}), False),
        ("PriorityClass", pod({}, priorityClassName="high"), True),
        ("CrossNamespacePodAffinity", affinity(), False),
        ("CrossNamespacePodAffinity", affinity(namespaces=["other"]), True),
    ],
)
def test_scopes_choose_pods(scope: str, given: dict[str, Any], expected: bool) -> None:
    assert applies_to({"spec": {"scopes": [scope]}}, PODS, given) is expected


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [("In", ["high"], True), ("In", ["low"], False), ("NotIn", ["high"], False),
     ("Exists", [], True), ("DoesNotExist", [], False)],
)  # fmt: skip
def test_a_scope_may_select_by_priority(operator: str, values: list[str], expected: bool) -> None:
    wanted = {"scopeName": "PriorityClass", "operator": operator, "values": values}
    quota = {"spec": {"scopeSelector": {"matchExpressions": [wanted]}}}
    assert applies_to(quota, PODS, pod({}, priorityClassName="high")) is expected
    assert not applies_to(quota, SERVICES, {"spec": {}})


GOLD, TIN = "gold.deviceclass.resource.k8s.io/devices", "tin.deviceclass.resource.k8s.io/devices"


@pytest.mark.parametrize(
    ("requests", "devices"),
    [
        ([{"exactly": {"deviceClassName": "gold", "count": 2}}] * 2, {GOLD: 4}),
        ([{"exactly": {"deviceClassName": "gold", "allocationMode": "All"}}], {GOLD: 32}),
        (
            [{"firstAvailable": [{"deviceClassName": "gold", "count": 1},
                                 {"deviceClassName": "tin", "count": 5},
                                 {"deviceClassName": "gold", "count": 3}]}],
            {GOLD: 3, TIN: 5},
        ),
        ([], {}),
    ],
)  # fmt: skip
def test_a_claim_uses_the_devices_that_it_may_be_given(
    requests: list[Any], devices: dict[str, int]
) -> None:
    used = numbers(DEVICE_CLAIMS, {"spec": {"devices": {"requests": requests}}})

    assert used == {"count/resourceclaims.resource.k8s.io": 1} | devices
    assert counted_by(GOLD) == DEVICE_CLAIMS
