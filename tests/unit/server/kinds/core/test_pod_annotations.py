"""Settings of pods that were annotations once, and rules of pods that templates do not have."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import (
    CONTAINER,
    SELECTOR,
    TEMPLATE,
    created,
    errors,
    pod,
    pod_errors,
    rules_of,
    status_errors,
    updated,
)

SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}}


@pytest.mark.parametrize(
    ("annotations", "spec", "problems"),
    [
        ({SECCOMP: "odd"}, {},
         [f'metadata.annotations.{SECCOMP}: Invalid value: "odd": must be a valid seccomp '
          "profile"]),
        ({SECCOMP: "localhost/../x"}, {},
         [f"metadata.annotations.{SECCOMP}: Invalid value: \"../x\": must not contain '..'"]),
        ({SECCOMP: "unconfined"},
         {"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}},
         ["spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and "
          "field must match"]),
        ({f"{APP_ARMOR}none": "odd"}, {},
         [f'metadata.annotations[{APP_ARMOR}none]: Invalid value: "none": container not found',
          f'metadata.annotations[{APP_ARMOR}none]: Invalid value: "odd": invalid AppArmor profile '
          'name: "odd"']),
        ({f"{APP_ARMOR}c": "localhost/a"},
         {"containers": [{**CONTAINER, "securityContext": {
             "appArmorProfile": {"type": "Localhost", "localhostProfile": "b"}}}]},
         ["spec.containers[0].securityContext.appArmorProfile.localhostProfile: Forbidden: "
          "apparmor profile in annotation and field must match"]),
    ],
)  # fmt: skip
def test_old_annotations_are_validated(
    annotations: dict[str, str], spec: dict[str, Any], problems: list[str]
) -> None:
    found = errors(
        "v1",
        "Pod",
        metadata={"annotations": annotations},
        spec={"containers": [CONTAINER], **spec},
    )

    assert found == problems


@pytest.mark.parametrize(
    ("annotation", "of_pod", "copied", "is_warned_of"),
    [
        ("runtime/default", None, {"type": "RuntimeDefault"}, True),
        ("unconfined", None, {"type": "Unconfined"}, True),
        ("localhost/a", None, {"type": "Localhost", "localhostProfile": "a"}, True),
        (
            "localhost/a",
            {"type": "Unconfined"},
            {"type": "Localhost", "localhostProfile": "a"},
            True,
        ),
        ("unconfined", {"type": "Unconfined"}, None, False),
        ("localhost/", None, None, True),
        ("localhost/ a", None, None, True),
        ("", None, None, True),
    ],
)
def test_a_profile_that_an_annotation_names_becomes_a_field(
    annotation: str, of_pod: Any, copied: Any, is_warned_of: bool
) -> None:
    key = f"{APP_ARMOR}c"
    spec = {"containers": [CONTAINER], "securityContext": {"appArmorProfile": of_pod}}
    given = {"metadata": {"annotations": {key: annotation}}, "spec": spec}

    made = created("v1", "Pod", **given)

    assert (made["spec"]["containers"][0].get("securityContext") or {}).get(
        "appArmorProfile"
    ) == copied
    why = 'deprecated since v1.30; use the "appArmorProfile" field instead'
    text = f"metadata.annotations[{key}]: {why}"
    assert rules_of(made).warnings_as_given(given) == ([text] if is_warned_of else [])


def test_a_profile_that_is_a_field_already_is_no_reason_to_warn() -> None:
    container = {**CONTAINER, "securityContext": {"appArmorProfile": {"type": "Unconfined"}}}
    annotations = {f"{APP_ARMOR}c": "unconfined"}
    given = {"metadata": {"annotations": annotations}, "spec": {"containers": [container]}}

    made = created("v1", "Pod", **given)

    assert rules_of(made).warnings_as_given(given) == []
    assert made["spec"]["containers"][0]["securityContext"] == container["securityContext"]


@pytest.mark.parametrize(
    ("of_pod", "is_warned_of"), [(None, True), ({"type": "Unconfined"}, False)]
)
def test_a_template_with_a_profile_in_an_annotation_is_warned_of(
    of_pod: Any, is_warned_of: bool
) -> None:
    key = f"{APP_ARMOR}c"
    metadata = {"labels": {"app": "a"}, "annotations": {key: "unconfined"}}
    spec = {"containers": [CONTAINER], "securityContext": {"appArmorProfile": of_pod}}
    template = {"metadata": metadata, "spec": spec}

    made = created("apps/v1", "Deployment", spec={"selector": SELECTOR, "template": template})

    why = 'deprecated since v1.30; use the "appArmorProfile" field instead'
    text = f"spec.template.metadata.annotations[{key}]: {why}"
    assert rules_of(made).warnings(made) == ([text] if is_warned_of else [])


@pytest.mark.parametrize(
    ("before", "after", "how"),
    [({}, "unconfined", "add"), ("unconfined", "runtime/default", "remove or update"),
     ("unconfined", None, "remove or update")],
)  # fmt: skip
def test_the_profile_of_a_pod_stays(before: Any, after: str | None, how: str) -> None:
    key = f"{APP_ARMOR}c"
    annotations = {key: before} if before else {}
    metadata = {"annotations": annotations}
    old = created("v1", "Pod", metadata=metadata, spec={"containers": [CONTAINER]})

    _, found = updated(old, {"metadata": {"annotations": {key: after}}})

    refusal = f"metadata.annotations[{key}]: Forbidden: may not {how} AppArmor annotations"
    assert found == [refusal]


def test_an_update_to_an_invalid_pod_reports_its_violations_and_what_is_immutable() -> None:
    change = {"spec": {"tolerations": [{"key": "a b", "operator": "Exists"}], "hostname": "h"}}

    _, found = updated(pod(), change)

    assert [text.partition(": ")[0] for text in found] == ["spec.tolerations[0].key", "spec"]


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        ({"containers": [], "initContainers": [{"name": "i"}]},
         ["spec.containers: Required value", "spec.initContainers[0].image: Required value"]),
        ({"ephemeralContainers": [{"name": "c", "image": "i", "targetContainerName": "d",
                                   "ports": [{"containerPort": 1}]}]},
         ['spec.ephemeralContainers[0].name: Duplicate value: "c"',
          'spec.ephemeralContainers[0].targetContainerName: Not found: "d"',
          "spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container",
          "spec.ephemeralContainers: Forbidden: cannot be set on create"]),
        ({"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": CLAIM}},
                      {"name": "w", "persistentVolumeClaim": {"claimName": "a-v"}}]},
         ['spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: "a-v": must not '
          "reference a PVC that gets created for an ephemeral volume"]),
        ({"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {
            "metadata": {"name": "x", "labels": {"a": "b"}}, **CLAIM}}}]},
         ["spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set"]),
        ({"volumes": [{"name": "v", "image": {"pullPolicy": "Odd"}}]},
         ["spec.volumes[0].image.reference: Required value",
          'spec.volumes[0].image.pullPolicy: Unsupported value: "Odd": supported values: "Always", '
          '"IfNotPresent", "Never"']),
        ({"volumes": [{"name": "v" * 40, "iscsi": {
            "targetPortal": "p" * 30, "iqn": "iqn.2001-04.com.example:a", "lun": 0,
            "initiatorName": "iqn.2001-04.com.example:b"}}]},
         [f'spec.volumes[0].name: Invalid value: "{"v" * 40}": Total length of <volume name>:'
          "<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified."]),
        ({"tolerations": [{"key": "k", "value": "-" * 64}]},
         [f'spec.tolerations[0].operator: Invalid value: "{"-" * 64}": must be no more than 63 '
          "bytes;a valid label must be an empty string or consist of alphanumeric characters, '-', "
          "'_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
          "'my_value',  or '12345', regex used for validation is "
          "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"]),
        ({"preemptionPolicy": ""}, ["spec.preemptionPolicy: Required value"]),
    ],
)  # fmt: skip
def test_a_new_pod_is_validated(spec: dict[str, Any], problems: list[str]) -> None:
    assert pod_errors(**spec) == problems


def test_a_template_may_lack_the_reference_of_an_image_volume() -> None:
    volumes = [{"name": "v", "image": {}}]
    template = {**TEMPLATE, "spec": {"containers": [CONTAINER], "volumes": volumes}}

    found = errors("apps/v1", "Deployment", spec={"selector": SELECTOR, "template": template})

    assert found == []


@pytest.mark.parametrize(
    ("status", "problems"),
    [
        ({"qosClass": "Guaranteed"},
         ['status.qosClass: Invalid value: "Guaranteed": field is immutable']),
        ({"containerStatuses": [{"name": "c", "user": {"linux": {"uid": -1, "gid": 0}}}]},
         ["status.containerStatuses[0].linux.uid: Invalid value: -1: must be between 0 and "
          "2147483647, inclusive"]),
        ({"containerStatuses": [{"name": "c", "allocatedResourcesStatus": [
            {"name": "example.com/x", "resources": [{"resourceID": "a", "health": "Odd"},
                                                    {"resourceID": "a"}]}]}]},
         ['status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: '
          "\"example.com/x\": must match one of the container's resource requests",
          "status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health: Unsupported"
          ' value: "Odd": supported values: "Healthy", "Unhealthy", "Unknown"',
          "status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].health: Unsupported"
          ' value: "": supported values: "Healthy", "Unhealthy", "Unknown"',
          "status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].resourceID: "
          'Duplicate value: "a"']),
    ],
)  # fmt: skip
def test_the_status_of_a_pod_is_validated(status: dict[str, Any], problems: list[str]) -> None:
    assert status_errors(pod(), status) == problems


def test_an_update_of_a_node_compares_its_networks_one_by_one() -> None:
    networks = {"podCIDRs": ["10.0.0.0/24", "2001:db8::/64"]}
    old = created("v1", "Node", spec=networks)

    others = {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24", "2001:db8:1::/64"]}
    _, found = updated(old, {"spec": others})

    why = 'node updates may not change podCIDR except from "" to valid'
    assert found == [f"spec.podCIDRs: Forbidden: {why}"] * 2


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        ({"hard": {"services": "1"}, "scopeSelector": {"matchExpressions": [
            {"scopeName": "PriorityClass", "operator": "In", "values": ["a"]}]}},
         ["spec.scopeSelector.matchExpressions: Invalid value: "
          '{"MatchExpressions":[{"ScopeName":"PriorityClass","Operator":"In","Values":["a"]}]}: '
          "unsupported scope applied to resource"]),
        ({"hard": {"requests.storage": "1", "count/pods": "1"}, "scopes": ["NotBestEffort"]},
         ['spec.scopes: Invalid value: ["NotBestEffort"]: unsupported scope applied to resource']),
        ({"scopeSelector": {"matchExpressions": [
            {"scopeName": "BestEffort", "operator": "Exists"},
            {"scopeName": "NotBestEffort", "operator": "Exists"}]}},
         ["spec.scopeSelector.matchExpressions: Invalid value: null: conflicting scopes"]),
    ],
)  # fmt: skip
def test_the_scopes_of_a_quota_fit_what_it_limits(
    spec: dict[str, Any], problems: list[str]
) -> None:
    assert errors("v1", "ResourceQuota", spec=spec) == problems
