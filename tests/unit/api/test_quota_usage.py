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
    assert list(map(str, counted_by(name))) == [expected]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("requests.example.com/gpu", {PODS, DEVICE_CLAIMS}),
        ("requests.deviceclass.resource.kubernetes.io/gold", {PODS, DEVICE_CLAIMS}),
        ("requests.kubernetes.io/gpu", set()),
        ("limits.example.com/gpu", set()),
        ("example.com/gpu", set()),
        ("fast.storageclass.storage.k8s.io/snapshots", set()),
    ],
)
def test_a_name_with_a_domain_counts_what_is_asked_for_by_it(
    name: str, expected: set[GroupResource]
) -> None:
    assert counted_by(name) == expected


def test_limits_of_extended_resources_and_huge_pages_do_not_count() -> None:
    named = {"example.com/gpu": "2", "hugepages-2Mi": "4Mi", "cpu": "1"}

    used = numbers(PODS, pod({"requests": {"kubernetes.io/x": "1", **named}, "limits": named}))

    assert set(used) == {
        *("pods", "count/pods", "cpu", "requests.cpu", "limits.cpu"),
        *("hugepages-2Mi", "requests.hugepages-2Mi", "requests.example.com/gpu"),
    }


OF_CLASS = "gold.storageclass.storage.k8s.io/"


@pytest.mark.parametrize(
    ("content", "status", "expected"),
    [
        ({"storage": "1500m"}, {}, 2),
        ({"storage": "1Ki"}, {"allocatedResources": {"storage": "2Ki"}}, 2048),
        ({"storage": "2Ki"}, {"allocatedResources": {"storage": "1Ki"}}, 2048),
        ({}, {"allocatedResources": {"storage": "1Ki"}}, None),
    ],
)
def test_a_claim_uses_whole_bytes_of_what_it_asks_for_or_was_given(
    content: dict[str, str], status: dict[str, Any], expected: int | None
) -> None:
    spec = {"storageClassName": "gold", "resources": {"requests": content}}

    used = numbers(CLAIMS, {"spec": spec, "status": status})

    assert used.get("requests.storage") == used.get(f"{OF_CLASS}requests.storage") == expected
    assert used[f"{OF_CLASS}persistentvolumeclaims"] == 1


@pytest.mark.parametrize(
    ("annotation", "named", "counts"),
    [(None, "gold", True), ("gold", "tin", True), ("tin", "gold", False), ("", "gold", False)],
)
def test_the_older_annotation_of_a_class_comes_first(
    annotation: str | None, named: str, counts: bool
) -> None:
    annotations = {"volume.beta.kubernetes.io/storage-class": annotation}
    metadata = {"annotations": annotations} if annotation is not None else {}

    used = usage_of(CLAIMS, {"metadata": metadata, "spec": {"storageClassName": named}})

    assert (f"{OF_CLASS}persistentvolumeclaims" in used) is counts


@pytest.mark.parametrize(
    ("operator", "values", "status", "expected"),
    [
        ("Exists", [], {}, False),
        ("DoesNotExist", [], {}, True),
        ("Exists", [], {"currentVolumeAttributesClassName": "fast"}, True),
        ("DoesNotExist", [], {"currentVolumeAttributesClassName": "fast"}, False),
        ("In", ["fast"], {"currentVolumeAttributesClassName": "fast"}, True),
        ("In", ["fast"],
         {"modifyVolumeStatus": {"targetVolumeAttributesClassName": "fast"}}, True),
        ("NotIn", ["fast"],
         {"currentVolumeAttributesClassName": "fast",
          "modifyVolumeStatus": {"targetVolumeAttributesClassName": "slow"}}, True),
    ],
)  # fmt: skip
def test_a_scope_selects_claims_by_every_class_of_attributes_they_name(
    operator: str, values: list[str], status: dict[str, Any], expected: bool
) -> None:
    wanted = {"scopeName": "VolumeAttributesClass", "operator": operator, "values": values}
    quota = {"spec": {"scopeSelector": {"matchExpressions": [wanted]}}}
    assert applies_to(quota, CLAIMS, {"spec": {}, "status": status}) is expected


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
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    claim = {"spec": {"devices": {"requests": requests}}}

    used = numbers(DEVICE_CLAIMS, claim)
    of_pod = numbers(DEVICE_CLAIMS, claim | {"metadata": {"annotations": annotations}})

    as_resource = {
        f"requests.deviceclass.resource.kubernetes.io/{name.partition('.')[0]}": count
        for name, count in devices.items()
    }
    assert of_pod == {"count/resourceclaims.resource.k8s.io": 1} | devices
    assert used == of_pod | as_resource
    assert counted_by(GOLD) == {DEVICE_CLAIMS}
