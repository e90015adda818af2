"""What is legal but probably not meant is stored, and said."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import CONTAINER, SELECTOR, TEMPLATE, created, pod, rules_of

NO_LABEL = "a DNS label is recommended: [must not contain dots]"
FRACTION = 'fractional byte value "1500m" is invalid, must be an integer'
CLASS = "volume.beta.kubernetes.io/storage-class"


def said(obj: dict[str, Any]) -> list[str]:
    rules = rules_of(obj)
    return [*rules.warnings_on_create(obj), *rules.warnings(obj)]


def ports(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"containers": [{**CONTAINER, "ports": [{"containerPort": 80, **e} for e in entries]}]}


@pytest.mark.parametrize(
    ("spec", "warnings"),
    [
        ({"containers": [{**CONTAINER, "env": [{"name": "A"}, {"name": "A"}]}]},
         ['spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when '
          "using apply"]),
        ({"containers": [{**CONTAINER, "env": [{"name": "A"}, {"name": "A", "value": "$(A)x"}]}]},
         []),
        ({"containers": [{**CONTAINER, "env": [{"name": "A"}, {"name": "A", "value": "$(A)"}]}]},
         ['spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when '
          "using apply"]),
        ({"volumes": [{"name": "v", "storageos": {"volumeName": "x"}}]},
         ["spec.volumes[0].storageOS: deprecated in v1.22, non-functional in v1.25+"]),
        ({"volumes": [{"name": "v", "gitRepo": {"repository": "x"}}]},
         ["spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"]),
        ({"containers": [{**CONTAINER, "resources": {"limits": {"memory": "1500m"}}}]},
         [f"spec.containers[0].resources.limits[memory]: {FRACTION}",
          f"spec.containers[0].resources.requests[memory]: {FRACTION}"]),
        ({"nodeSelector": {"beta.kubernetes.io/os": "linux"}},
         ["spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "
          '"kubernetes.io/os" instead']),
        ({"hostAliases": [{"ip": "1.1.1.1"}, {"ip": "1.1.1.1"}]},
         ['spec.hostAliases[1].ip: duplicate ip "1.1.1.1"']),
        ({"imagePullSecrets": [{"name": "a"}, {"name": "a"}, {}]},
         ['spec.imagePullSecrets[1].name: duplicate name "a"',
          'spec.imagePullSecrets[2].name: invalid empty name ""']),
        (ports({}, {}),
         ["spec.containers[0].ports[1]: duplicate port definition with "
          "spec.containers[0].ports[0]"]),
        (ports({"hostPort": 1}, {}),
         ["spec.containers[0].ports[1]: overlapping port definition with "
          "spec.containers[0].ports[0]"]),
        (ports({"hostPort": 1}, {"hostPort": 1, "hostIP": "1.1.1.1"}),
         ["spec.containers[0].ports[1]: dangerously ambiguous port definition with "
          "spec.containers[0].ports[0]"]),
        (ports({"hostIP": "1.1.1.1"}),
         ["spec.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 "
          "ContainerPort:80 Protocol:TCP HostIP:1.1.1.1}"]),
        ({"initContainers": [{**CONTAINER, "name": "i",
                              "ports": [{"containerPort": 1, "name": "web"}]}],
          "containers": [{**CONTAINER, "ports": [{"containerPort": 2, "name": "web"},
                                                 {"containerPort": 3, "name": "api"}]}]},
         ['spec.containers[0].ports[0]: duplicate port name "web" with '
          "spec.initContainers[0].ports[0], services and probes that select ports by name will "
          "use spec.initContainers[0].ports[0]"]),
        ({"terminationGracePeriodSeconds": -1}, []),
        ({"topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "failure-domain.beta.kubernetes.io/zone",
             "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}]},
         ["spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone "
          'is deprecated since v1.17; use "topology.kubernetes.io/zone" instead']),
    ],
)  # fmt: skip
def test_odd_pods_are_warned_about(spec: dict[str, Any], warnings: list[str]) -> None:
    assert said(pod(**spec)) == warnings


def test_old_annotations_of_pods_do_nothing() -> None:
    key = "scheduler.alpha.kubernetes.io/critical-pod"
    metadata = {"annotations": {key: ""}}

    made = created("v1", "Pod", metadata=metadata, spec={"containers": [CONTAINER]})

    why = 'non-functional in v1.16+; use the "priorityClassName" field instead'
    assert said(made) == [f"metadata.annotations[{key}]: {why}"]


@pytest.mark.parametrize(
    ("version", "kind", "used_in"),
    [
        ("v1", "Pod", "the Pod's hostname"),
        ("apps/v1", "Deployment", "Pod names and hostnames"),
        ("apps/v1", "ReplicaSet", "Pod names and hostnames"),
    ],
)
def test_a_name_that_is_no_hostname_is_warned_about(version: str, kind: str, used_in: str) -> None:
    spec = TEMPLATE["spec"] if kind == "Pod" else {"selector": SELECTOR, "template": TEMPLATE}

    made = created(version, kind, metadata={"name": "a.b"}, spec=spec)

    text = f"metadata.name: this is used in {used_in}, which can result in surprising behavior"
    assert said(made) == [f"{text}; {NO_LABEL}"]


def test_a_template_warns_with_its_own_path() -> None:
    volume = {"name": "v", "rbd": {"monitors": ["m"], "image": "i"}}
    pod_spec: dict[str, Any] = {"containers": [CONTAINER], "restartPolicy": "Never"}
    job = {"template": {"spec": {**pod_spec, "volumes": [volume]}}}

    made = created("batch/v1", "CronJob", spec={"schedule": "@daily", "jobTemplate": {"spec": job}})

    assert said(made) == [
        "spec.jobTemplate.spec.template.spec.volumes[0].rbd: deprecated in v1.28, non-functional "
        "in v1.31+"
    ]


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_a_template_with_a_negative_grace_period_keeps_it_and_is_warned_about(kind: str) -> None:
    template = {
        **TEMPLATE,
        "spec": {"containers": [CONTAINER], "terminationGracePeriodSeconds": -5},
    }

    made = created("apps/v1", kind, spec={"selector": SELECTOR, "template": template})

    assert made["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == -5
    assert said(made) == [
        "spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are "
        "invalid and will be treated as 1"
    ]


def test_a_volume_that_is_recycled_is_warned_about() -> None:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/a"},
        "persistentVolumeReclaimPolicy": "Recycle",
    }

    assert said(created("v1", "PersistentVolume", spec=spec)) == [
        "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, "
        "the recommended approach is to use dynamic provisioning."
    ]


def test_a_claim_warns_of_its_old_class_and_of_half_bytes() -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1500m"}}}

    made = created("v1", "PersistentVolumeClaim", metadata={"annotations": {CLASS: "x"}}, spec=spec)

    assert said(made) == [
        f'metadata.annotations[{CLASS}]: deprecated since v1.8; use "storageClassName" attribute '
        "instead",
        f"spec.resources.requests[storage]: {FRACTION}",
    ]


@pytest.mark.parametrize("limit", [-1, 0, None])
def test_a_stateful_set_warns_of_half_bytes_of_its_claims_and_of_keeping_all_revisions(
    limit: int | None,
) -> None:
    claim = {"metadata": {"name": "d"}, "spec": {"resources": {"requests": {"storage": "1500m"}}}}
    spec = {"volumeClaimTemplates": [claim], "revisionHistoryLimit": limit}

    assert said(created("apps/v1", "StatefulSet", spec=spec)) == [
        'spec.volumeClaimTemplates[0].resources.requests[storage]: fractional byte value "1500m" '
        "is invalid, must be an integer",
        *["spec.revisionHistoryLimit: a negative value retains all historical revisions; "
          "a value >= 0 is recommended"] * (limit == -1),
    ]  # fmt: skip


OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
NEW_ZONE = 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'


@pytest.mark.parametrize(
    ("version", "kind", "body", "warnings"),
    [
        ("v1", "Node", {"spec": {"externalID": "x", "configSource": {"configMap": {}}}},
         ["spec.configSource: the feature is removed",
          "spec.externalID: this field is deprecated, and is unused by Kubernetes"]),
        ("v1", "Node", {"spec": {}}, []),
        ("v1", "ServiceAccount",
         {"metadata": {"annotations": {"kubernetes.io/enforce-mountable-secrets": "false"}}},
         ["metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; "
          "prefer separate namespaces to isolate access to mounted secrets"]),
        ("v1", "ServiceAccount", {"metadata": {"annotations": {"other": "x"}}}, []),
        ("storage.k8s.io/v1", "StorageClass",
         {"provisioner": "p", "allowedTopologies": [
             {"matchLabelExpressions": [{"key": "new", "values": ["a"]}]},
             {"matchLabelExpressions": [{"key": OLD_ZONE, "values": ["a"]}]}]},
         [f"allowedTopologies[1].matchLabelExpressions[0].key: {NEW_ZONE}"]),
        ("storage.k8s.io/v1", "CSIStorageCapacity",
         {"storageClassName": "s", "nodeTopology": {
             "matchLabels": {OLD_ZONE: "a", "new": "b"},
             "matchExpressions": [{"key": OLD_ZONE, "operator": "Exists"}]}},
         [f"nodeTopology.matchExpressions[0].key: {OLD_ZONE} is {NEW_ZONE}",
          f"nodeTopology.matchLabels.{OLD_ZONE}: {NEW_ZONE}"]),
    ],
)  # fmt: skip
def test_kinds_that_have_old_fields_say_so(
    version: str, kind: str, body: dict[str, Any], warnings: list[str]
) -> None:
    assert said(created(version, kind, **body)) == warnings


def test_a_pod_that_reports_an_address_in_another_form_is_warned_about() -> None:
    found = pod()
    status = {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "FD00::1"}], "hostIPs": [{"ip": "10.0.0.2"}]}

    warnings = rules_of(found).warnings_on_status({**found, "status": status})

    assert warnings == [
        'status.podIPs[1].ip: IPv6 address "FD00::1" should be in RFC 5952 canonical format '
        '("fd00::1")'
    ]
