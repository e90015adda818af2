"""What a pod may not say, rule by rule, in Kubernetes' words."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.server.kinds.parts.validation_cache import ValidationCache
from tests.unit.server.kinds.creating import (
    CONTAINER,
    container_errors,
    pod,
    pod_errors,
    status_errors,
    updated,
)

MOUNT = {"name": "e", "mountPath": "/a"}


@pytest.mark.parametrize(
    ("fields", "problems"),
    [
        ({"name": ""}, ["name: Required value"]),
        ({"image": " x"},
         ['image: Invalid value: " x": must not have leading or trailing whitespace']),
        ({"imagePullPolicy": "x"},
         ['imagePullPolicy: Unsupported value: "x": supported values: "Always", "IfNotPresent", '
          '"Never"']),
        ({"ports": [{"containerPort": 0}]}, ["ports[0].containerPort: Required value"]),
        ({"ports": [{"containerPort": 70000}]},
         ["ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"]),
        ({"ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]},
         ['ports[1].name: Duplicate value: "a"']),
        ({"ports": [{"containerPort": 1, "hostPort": 5}, {"containerPort": 2, "hostPort": 5}]},
         ['ports[1].hostPort: Duplicate value: "TCP//5"']),
        ({"env": [{"value": "x"}]}, ["env[0].name: Required value"]),
        ({"env": [{"name": "A", "valueFrom": {}}]},
         ['env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, '
          "`resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"]),
        ({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "a/b"}}}]},
         ['env[0].valueFrom.secretKeyRef.key: Invalid value: "a/b": a valid config key must '
          "consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',"
          "  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"]),
        ({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a']"}}}]},
         []),
        ({"envFrom": [{"configMapRef": {}}]}, ["envFrom[0].configMapRef.name: Required value"]),
        ({"envFrom": [{"configMapRef": {"name": "a-"}}, {"secretRef": {"name": "b--"}}]}, []),
        ({"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
         ['resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1']),
        ({"resources": {"requests": {"example.com/x": 1}}},
         ["resources.limits: Required value: Limit must be set for non overcommitable resources"]),
        ({"resources": {"claims": [{"name": "x"}]}},
         ['resources.claims[0]: Not found: "x": must be one of the names in '
          "pod.spec.resourceClaims which is empty"]),
        ({"livenessProbe": {}}, ["livenessProbe: Required value: must specify a handler type"]),
        ({"readinessProbe": {"tcpSocket": {"port": "A_B"}}},
         ['readinessProbe.tcpSocket.port: Invalid value: "A_B": must contain only alpha-numeric '
          "characters (a-z, 0-9), and hyphens (-)",
          'readinessProbe.tcpSocket.port: Invalid value: "A_B": must contain at least one letter '
          "(a-z)"]),
        ({"lifecycle": {"preStop": {"exec": {}}}},
         ["lifecycle.preStop.exec.command: Required value"]),
        ({"volumeMounts": [{**MOUNT, "subPath": "../x"}]},
         ['volumeMounts.subPath: Invalid value: "../x": must not contain \'..\'']),
        ({"volumeMounts": [MOUNT, MOUNT]},
         ['volumeMounts[1].mountPath: Invalid value: "/a": must be unique']),
        ({"volumeMounts": [{**MOUNT, "name": "x"}]}, ['volumeMounts[0].name: Not found: "x"']),
        ({"securityContext": {"runAsUser": -1}},
         ["securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, "
          "inclusive"]),
        ({"securityContext": {"allowPrivilegeEscalation": False, "privileged": True,
                              "seLinuxOptions": {"level": "l", "user": "u"},
                              "seccompProfile": {"type": "RuntimeDefault"}}},
         ['securityContext: Invalid value: {"Capabilities":null,"Privileged":true,'
          '"SELinuxOptions":{"User":"u","Role":"","Type":"","Level":"l"},"WindowsOptions":null,'
          '"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,'
          '"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":{"Type":'
          '"RuntimeDefault","LocalhostProfile":null},"AppArmorProfile":null}: cannot set '
          "`allowPrivilegeEscalation` to false and `privileged` to true"]),
        ({"securityContext": {"allowPrivilegeEscalation": False, "privileged": True}},
         ['securityContext: Invalid value: {"Capabilities":null,"Privileged":true,'
          '"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,'
          '"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,'
          '"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}: cannot set '
          "`allowPrivilegeEscalation` to false and `privileged` to true"]),
        ({"resizePolicy": [{"resourceName": "x", "restartPolicy": "NotRequired"}]},
         ['resizePolicy: Unsupported value: "x": supported values: "cpu", "memory"']),
    ],
)  # fmt: skip
def test_a_container_is_validated(fields: dict[str, Any], problems: list[str]) -> None:
    assert container_errors(**fields) == problems


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        ({"containers": []}, ["containers: Required value"]),
        ({"restartPolicy": "x"},
         ['restartPolicy: Unsupported value: "x": supported values: "Always", "OnFailure", '
          '"Never"']),
        ({"initContainers": [{"name": "i", "image": "x", "livenessProbe": {"exec": {}}}]},
         ["initContainers[0].livenessProbe: Forbidden: may not be set for init containers without "
          "restartPolicy=Always"]),
        ({"initContainers": [CONTAINER]}, ['initContainers[0].name: Duplicate value: "c"']),
        ({"volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}}]},
         ["volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"]),
        ({"volumes": [{"name": "v", "configMap": {"name": "m", "defaultMode": 512}}]},
         ["volumes[0].configMap.defaultMode: Invalid value: 512: must be a number between 0 and "
          "0777 (octal), both inclusive"]),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s",
                                                "items": [{"key": "k", "path": "../x"}]}}]},
         ["volumes[0].secret.items[0].path: Invalid value: \"../x\": must not contain '..'"]),
        ({"nodeName": "A"},
         ["nodeName: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower "
          "case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric "
          "character (e.g. 'example.com', regex used for validation is "
          "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"]),
        ({"activeDeadlineSeconds": 0},
         ["activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"]),
        ({"tolerations": [{"operator": "Exists", "key": "a", "value": "b"}]},
         ['tolerations[0].operator: Invalid value: "b": value must be empty when `operator` is '
          "'Exists'"]),
        ({"tolerations": [{"key": "a", "tolerationSeconds": 1}]},
         ["tolerations[0].effect: Invalid value: \"\": effect must be 'NoExecute' when "
          "`tolerationSeconds` is set"]),
        ({"dnsPolicy": "None"},
         ["dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"]),
        ({"imagePullSecrets": [{}]}, []),
        ({"readinessGates": [{"conditionType": "a"}]}, []),
        ({"os": {"name": "beos"}},
         ['os: Unsupported value: "beos": supported values: "linux", "windows"']),
    ],
)  # fmt: skip
def test_a_pod_is_validated(spec: dict[str, Any], problems: list[str]) -> None:
    assert [text.removeprefix("spec.") for text in pod_errors(**spec)] == problems


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        ({"containers": [{**CONTAINER, "image": "nginx:2"}]}, []),
        ({"tolerations": [{"key": "k", "operator": "Exists"}]}, []),
        ({"activeDeadlineSeconds": 30}, []),
        ({"activeDeadlineSeconds": 90},
         ["spec.activeDeadlineSeconds: Invalid value: 90: must be less than or equal to previous "
          "value"]),
        ({"activeDeadlineSeconds": None},
         ["spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive "
          "integer to nil value"]),
        ({"containers": [CONTAINER, {**CONTAINER, "name": "d"}]},
         ["spec.containers: Forbidden: pod updates may not add or remove containers"]),
    ],
)  # fmt: skip
def test_little_of_a_pod_may_change(change: dict[str, Any], problems: list[str]) -> None:
    old = pod(activeDeadlineSeconds=60)

    assert updated(old, {"spec": change})[1] == problems


@pytest.mark.parametrize(
    "change", [{"restartPolicy": "Never"}, {"nodeName": "n"}, {"terminationGracePeriodSeconds": 5}]
)
def test_the_rest_of_a_pod_is_fixed(change: dict[str, Any]) -> None:
    (problem,) = updated(pod(), {"spec": change})[1]

    assert problem.startswith("spec: Forbidden: pod updates may not change fields other than")


def test_addresses_and_conditions_of_a_status_are_validated() -> None:
    found = status_errors(pod(), {"podIPs": [{"ip": "x"}], "conditions": [{"type": "a b"}]})

    assert found[0].startswith('status.conditions[0].Type: Invalid value: "a b"')
    assert found[1].startswith('status.podIPs[0]: Invalid value: "x"')


def test_a_good_spec_is_remembered_and_a_bad_one_is_not() -> None:
    assert container_errors(name="good") == []
    assert container_errors(name="good") == []
    for _ in range(2):
        assert container_errors(name="") == ["name: Required value"]


def test_a_spec_that_was_good_on_one_node_is_checked_for_the_name_of_another() -> None:
    for node in ("node-1", "node-2", "Node 3", "node-1"):
        found = pod_errors(nodeName=node)
        assert [one.partition(":")[0] for one in found] == ["spec.nodeName"] * (" " in node)


def test_a_part_with_an_unnamed_field_is_not_taken_for_one_without() -> None:
    known = ValidationCache()

    assert known.text({"": 1, "cpu": 1}) != known.text({"cpu": 1})


def test_the_memory_of_good_specs_is_bounded() -> None:
    known = ValidationCache(bytes_max=10)
    for text in (b"12345", b"67890", b"abcde"):
        known.add(text)

    assert b"12345" not in known
    assert b"abcde" in known
