"""What a new pod is given, and what only pods get, not templates."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.pod_qos import qos_class
from proreus.server.kinds.parts.pod_template.images import pull_policy
from tests.unit.server.kinds.creating import CONTAINER, SELECTOR, TEMPLATE, created, pod


def test_a_minimal_pod() -> None:
    assert pod()["spec"] == {
        "containers": [
            {
                **CONTAINER,
                "imagePullPolicy": "IfNotPresent",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }
    assert pod()["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


@pytest.mark.parametrize("kept", [{}, {"a": "b"}])
@pytest.mark.parametrize("stage", ["alpha", "beta"])
def test_init_containers_in_annotations_are_dropped(stage: str, kept: dict[str, str]) -> None:
    start = f"pod.{stage}.kubernetes.io/"
    old = {f"{start}init-containers": "[]", f"{start}init-container-statuses": "[]"}
    metadata = {"annotations": {**old, **kept}, "labels": {"app": "a"}}
    template = {"metadata": metadata, "spec": {"containers": [CONTAINER]}}

    alone = created("v1", "Pod", metadata=metadata, spec={"containers": [CONTAINER]})
    owner = created("apps/v1", "ReplicaSet", spec={"selector": SELECTOR, "template": template})

    assert alone["metadata"].get("annotations", {}) == kept
    expected = {"labels": {"app": "a"}} | ({"annotations": kept} if kept else {})
    assert owner["spec"]["template"]["metadata"] == expected


@pytest.mark.parametrize("seconds", [-1, -100])
def test_a_negative_grace_period_of_a_pod_becomes_one_second(seconds: int) -> None:
    assert pod(terminationGracePeriodSeconds=seconds)["spec"]["terminationGracePeriodSeconds"] == 1


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.25", "IfNotPresent"),
        ("registry.local:5000/team/nginx", "Always"),
        ("registry.local:5000/team/nginx:2", "IfNotPresent"),
        ("nginx@sha256:aa", "IfNotPresent"),
        (f"nginx:latest@sha256:{'a' * 64}", "Always"),
        ("localhost/nginx", "Always"),
        ("[::1]:5000/nginx", "Always"),
    ],
)
def test_the_pull_policy_follows_the_tag(image: str, policy: str) -> None:
    assert pull_policy(image) == policy


@pytest.mark.parametrize(
    "image",
    ["", "Nginx", "a b", "a..b", "a/", "a:", "a:latest:x", "x.io:port/a", "a" * 64, "x" * 250,
     "localhost/A", "nginx:latest@sha256:aa"],
)  # fmt: skip
def test_what_is_no_reference_to_an_image_is_not_pulled_each_time(image: str) -> None:
    assert pull_policy(image) == "IfNotPresent"


def test_a_template_gets_less_than_a_pod() -> None:
    template = created("apps/v1", "Deployment", spec={"selector": SELECTOR, "template": TEMPLATE})
    spec = template["spec"]["template"]["spec"]

    assert not {"enableServiceLinks", "priority", "tolerations"} & set(spec)
    assert spec["restartPolicy"] == "Always"


def test_requests_follow_limits() -> None:
    limits = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}

    found = pod(containers=[{**CONTAINER, "resources": limits}])["spec"]["containers"][0]

    assert found["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}


def test_host_network_gives_host_ports() -> None:
    ports = [{"containerPort": 80}]

    found = pod(hostNetwork=True, containers=[{**CONTAINER, "ports": ports}])

    assert found["spec"]["containers"][0]["ports"] == [
        {"containerPort": 80, "hostPort": 80, "protocol": "TCP"}
    ]


def test_match_label_keys_become_selectors() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {},
        "matchLabelKeys": ["app", "absent"],
    }

    found = created(
        "v1",
        "Pod",
        metadata={"labels": {"app": "a"}},
        spec={"containers": [CONTAINER], "topologySpreadConstraints": [constraint]},
    )

    assert found["spec"]["topologySpreadConstraints"][0]["labelSelector"] == {
        "matchExpressions": [{"key": "app", "operator": "In", "values": ["a"]}]
    }


@pytest.mark.parametrize(
    ("volume", "kept"),
    [
        ({}, {"emptyDir": {}}),
        ({"configMap": {"name": "m"}}, {"configMap": {"name": "m", "defaultMode": 420}}),
        ({"secret": {"secretName": "s", "defaultMode": 0}},
         {"secret": {"secretName": "s", "defaultMode": 0}}),
        ({"hostPath": {"path": "/x"}}, {"hostPath": {"path": "/x", "type": ""}}),
        ({"image": {"reference": "r:1"}},
         {"image": {"reference": "r:1", "pullPolicy": "IfNotPresent"}}),
        ({"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
         {"projected": {"defaultMode": 420, "sources": [
             {"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}]}}),
    ],
)  # fmt: skip
def test_volumes_are_completed(volume: Any, kept: Any) -> None:
    assert pod(volumes=[{"name": "v", **volume}])["spec"]["volumes"] == [{"name": "v", **kept}]


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ([{}], "BestEffort"),
        ([{"limits": {"example.com/gpu": "1"}}], "BestEffort"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}],
         "Guaranteed"),
        ([{"requests": {"cpu": "1000m", "memory": "1Gi"},
           "limits": {"cpu": "1", "memory": "1024Mi"}}], "Guaranteed"),
        ([{"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
          {}], "Burstable"),
        ([{"requests": {"cpu": "0"}}], "BestEffort"),
    ],
)  # fmt: skip
def test_the_quality_of_service_follows_the_resources(resources: Any, expected: str) -> None:
    containers = [{"resources": entry} for entry in resources]

    assert qos_class({"containers": containers}) == expected


def test_defaulting_twice_changes_nothing() -> None:
    once = pod(volumes=[{"name": "v"}], serviceAccount="x")
    again = created("v1", "Pod", metadata=once["metadata"], spec=once["spec"])

    assert again == once
    assert once["spec"]["serviceAccountName"] == "x"
