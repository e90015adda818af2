"""What the parts of a pod may not say: volumes, security, scheduling, hooks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import (
    CONTAINER,
    SELECTOR,
    TEMPLATE,
    container_errors,
    errors,
    pod_errors,
)

TWO = "may not specify more than 1 volume type"


@pytest.mark.parametrize(
    ("source", "problems"),
    [
        ({"gcePersistentDisk": {"partition": 300}},
         ["persistentDisk.pdName: Required value",
          "persistentDisk.partition: Invalid value: 300: must be between 1 and 255, inclusive"]),
        ({"iscsi": {"iqn": "x", "lun": 256}},
         ["iscsi.targetPortal: Required value",
          'iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa',
          "iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive"]),
        ({"fc": {}},
         ["fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both"]),
        ({"fc": {"targetWWNs": ["a"]}},
         ["fc.lun: Required value: lun is required if targetWWNs is specified"]),
        ({"flocker": {}},
         ["flocker: Required value: one of datasetName and datasetUUID is required"]),
        ({"quobyte": {"registry": "x", "volume": "v"}},
         ['quobyte.registry: Invalid value: "x": must be a host:port pair or multiple pairs '
          "separated by commas"]),
        ({"flexVolume": {"driver": "d", "options": {"kubernetes.io/x": "y"}}},
         ['flexVolume.options[kubernetes.io/x]: Invalid value: "kubernetes.io/x": kubernetes.io '
          "and k8s.io namespaces are reserved"]),
        ({"azureDisk": {"diskName": "d", "diskURI": "x", "kind": "Managed"}},
         ['azureDisk.diskURI: Unsupported value: "x": supported values: "/subscriptions/{sub-id}/'
          'resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"']),
        ({"csi": {"driver": "d", "nodePublishSecretRef": {}}},
         ["csi.nodePublishSecretRef.name: Required value"]),
        ({"emptyDir": {}, "cephfs": {"monitors": ["m"]}}, [f"cephFS: Forbidden: {TWO}"]),
        ({"projected": {"sources": [{}]}}, []),
        ({"projected": {"sources": [{"secret": {"name": "s"}, "configMap": {"name": "m"}}]}},
         ["projected.sources[0]: Forbidden: may not specify more than 1 volume type per source"]),
        ({"projected": {"sources": [
            {"secret": {"name": "s", "items": [{"key": "k", "path": "p"}]}},
            {"configMap": {"name": "m", "items": [{"key": "k", "path": "p"}]}}]}},
         ['projected: Invalid value: "m": conflicting duplicate paths']),
        ({"projected": {"sources": [{"serviceAccountToken": {"expirationSeconds": 5}}]}},
         ["projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 5: may not "
          "specify a duration less than 10 minutes",
          "projected.path: Required value"]),
        ({"projected": {"sources": [{"clusterTrustBundle": {"path": "p"}}]}},
         ["projected.sources[0].clusterTrustBundle: Required value: either name or signerName must "
          "be specified"]),
        ({"projected": {"sources": [{"clusterTrustBundle": {"signerName": "", "path": "p"}}]}},
         ["projected.sources[0].clusterTrustBundle.signerName: Required value: must be a valid "
          "signer name",
          "projected.sources[0].clusterTrustBundle.signerName: Required value"]),
        ({"projected": {"sources": [{"clusterTrustBundle": {"name": "a:b", "path": "p"}},
                                    {"clusterTrustBundle": {"name": "b:a:c", "path": "p"}}]}},
         ['projected: Invalid value: "p": conflicting duplicate paths']),
        ({"projected": {"sources": [{"podCertificate": {
            "signerName": "example.com/s", "keyType": "ED25519", "keyPath": "k",
            "certificateChainPath": "c", "maxExpirationSeconds": 91 * 86400}}]}},
         []),
        ({"projected": {"sources": [{"podCertificate": {
            "signerName": "s", "keyType": "DSA", "maxExpirationSeconds": 3599}}]}},
         ["projected.sources[0].podCertificate.signerName: Invalid value: \"s\": must be a fully "
          "qualified domain and path of the form 'example.com/signer-name'",
          "projected.sources[0].podCertificate.keyType: Unsupported value: \"DSA\": supported "
          'values: "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"',
          "projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value: 3599: if "
          "provided, maxExpirationSeconds must be >= 3600",
          "projected.sources[0].podCertificate: Required value: specify at least one of "
          "credentialBundlePath, keyPath, and certificateChainPath"]),
        ({"projected": {"sources": [{"podCertificate": {
            "signerName": "kubernetes.io/s", "keyType": "RSA4096", "keyPath": "a",
            "credentialBundlePath": "a", "maxExpirationSeconds": 86401}}]}},
         ["projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value: 86401: if "
          "provided, maxExpirationSeconds must be <= 86400",
          'projected: Invalid value: "a": conflicting duplicate paths']),
        ({"downwardAPI": {"items": [{"path": "p", "resourceFieldRef": {}}]}},
         ["downwardAPI.resourceFieldRef.containerName: Required value"]),
    ],
)  # fmt: skip
def test_a_volume_is_validated(source: dict[str, Any], problems: list[str]) -> None:
    found = pod_errors(volumes=[{"name": "v", **source}], serviceAccountName="a")

    assert [text.removeprefix("spec.volumes[0].") for text in found] == problems


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        ({"securityContext": {"sysctls": [{"name": "a"}, {"name": "a"}]}},
         ['securityContext.sysctls[1].name: Duplicate value: "a"']),
        ({"hostNetwork": True, "securityContext": {"sysctls": [{"name": "net/core/x"}]}},
         ['securityContext.sysctls[0].name: Invalid value: "net/core/x": may not be specified when '
          "'hostNetwork' is true"]),
        ({"securityContext": {"seLinuxChangePolicy": "x"}},
         ['securityContext.seLinuxChangePolicy: Unsupported value: "x": supported values: '
          '"MountOption", "Recursive"']),
        ({"securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "/x"}}},
         ['securityContext.seccompProfile.localhostProfile: Invalid value: "/x": must be a '
          "relative path"]),
        ({"securityContext": {"appArmorProfile": {"type": "Localhost", "localhostProfile": " x"}}},
         ['securityContext.appArmorProfile.localhostProfile: Invalid value: " x": must not be '
          "padded with whitespace"]),
        ({"securityContext": {"windowsOptions": {"runAsUserName": "a\\b\\c"}}},
         ['securityContext.windowsOptions.runAsUserName: Invalid value: "a\\\\b\\\\c": '
          "runAsUserName cannot contain more than one backslash"]),
        ({"securityContext": {"windowsOptions": {"runAsUserName": "a@b"}}},
         ['securityContext.windowsOptions.runAsUserName: Invalid value: "a@b": '
          'runAsUserName\'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]']),
        ({"securityContext": {"windowsOptions": {"hostProcess": True}}},
         ["hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any "
          "hostProcess containers"]),
        ({"os": {"name": "windows"}, "hostIPC": True, "hostUsers": True},
         ["hostUsers: Forbidden: cannot be set for a windows pod",
          "hostIPC: Forbidden: cannot be set for a windows pod"]),
        ({"os": {"name": ""}}, ["os.name: Required value: cannot be empty"]),
        ({"dnsPolicy": "None", "dnsConfig": {"options": [{}]}},
         ["dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when "
          "`dnsPolicy` is None"]),
        ({"dnsPolicy": "x"},
         ['dnsPolicy: Unsupported value: "x": supported values: "ClusterFirstWithHostNet", '
          '"ClusterFirst", "Default", "None"']),
        ({"containers": [{"image": "x"}, {"image": "x"}]},
         ["containers[0].name: Required value", "containers[1].name: Required value",
          'containers[1].name: Duplicate value: ""']),
        ({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "matchLabelKeys": ["a"],
                                         "whenUnsatisfiable": "DoNotSchedule"}]},
         ["topologySpreadConstraints[0].matchLabelKeys: Forbidden: must not be specified when "
          "labelSelector is not set"]),
        ({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "z", "labelSelector": {}, "matchLabelKeys": ["a"],
             "mismatchLabelKeys": ["a"]}]}}},
         ["affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[0]:"
          ' Invalid value: "a": exists in both matchLabelKeys and mismatchLabelKeys']),
        ({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "preference": {"matchExpressions": [
                {"key": "k", "operator": "In", "values": ["a b"]}]}}]}}}, []),
        ({"initContainers": [{"name": "i", "image": "x", "resizePolicy": [
            {"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}]},
         ['initContainers[0].resizePolicy[0].restartPolicy: Invalid value: "RestartContainer": '
          "must not be set to 'RestartContainer' for non-sidecar initContainers"]),
        ({"resourceClaims": [{"name": "x"}]},
         ['resourceClaims[0]: Invalid value: {"Name":"x","ResourceClaimName":null,'
          '"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, '
          "`resourceClaimTemplateName`"]),
    ],
)  # fmt: skip
def test_the_rest_of_a_pod_is_validated(spec: dict[str, Any], problems: list[str]) -> None:
    assert [text.removeprefix("spec.") for text in pod_errors(**spec)] == problems


@pytest.mark.parametrize(
    ("fields", "problems"),
    [
        ({"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}},
         ["lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than "
          "terminationGracePeriodSeconds (30)"]),
        ({"lifecycle": {"preStop": {"sleep": {"seconds": 0}}}}, []),
        ({"resources": {"limits": {"requests.example.com/x": 1}}},
         ['resources.limits[requests.example.com/x]: Invalid value: "requests.example.com/x": '
          "doesn't follow extended resource name standard",
          'resources.requests[requests.example.com/x]: Invalid value: "requests.example.com/x": '
          "doesn't follow extended resource name standard"]),
        ({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.x['a']"}}}]},
         ["env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"spec.x['a']\": error converting "
          "fieldPath: field label does not support subscript: spec.x['a']"]),
        ({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.host"}}}]}, []),
        ({"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory",
                                                                    "divisor": "1024"}}}]},
         ['env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.memory": only '
          "divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported "
          "with the memory resource"]),
        ({"lifecycle": {"stopSignal": "SIGUSR1"}},
         ["lifecycle.stopSignal: Forbidden: may not be set for containers with empty "
          "`spec.os.name`"]),
        ({"restartPolicyRules": [{"action": "Restart"}]},
         ["restartPolicy: Required value: must specify restartPolicy when restart rules are used",
          "restartPolicyRules[0].exitCodes: Required value: must be specified"]),
        ({"env": [{"name": "A", "valueFrom": {"fileKeyRef": {"volumeName": "v", "key": "k"}}}]},
         ["env[0].valueFrom.fileKeyRef.path: Required value",
          'env[0].valueFrom.fileKeyRef.volumeName: Not found: "v"']),
        ({"terminationMessagePolicy": "x"},
         ['terminationMessagePolicy: Unsupported value: "x": supported values: "File", '
          '"FallbackToLogsOnError"']),
    ],
)  # fmt: skip
def test_the_rest_of_a_container_is_validated(fields: dict[str, Any], problems: list[str]) -> None:
    assert container_errors(**fields) == problems


def test_a_container_of_a_pod_that_never_restarts_is_not_restarted_to_be_resized() -> None:
    policy = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]

    assert pod_errors(
        containers=[{**CONTAINER, "resizePolicy": policy}], restartPolicy="Never"
    ) == [
        'spec.containers[0].resizePolicy: Invalid value: "RestartContainer": must be '
        "'NotRequired' when pod `restartPolicy` is 'Never'"
    ]


def test_only_a_template_may_stand_for_an_image_with_spaces() -> None:
    container = {**CONTAINER, "image": " "}
    template = {**TEMPLATE, "spec": {"containers": [container]}}

    assert errors("apps/v1", "Deployment", spec={"selector": SELECTOR, "template": template}) == []
    assert pod_errors(containers=[container]) == [
        'spec.containers[0].image: Invalid value: " ": must not have leading or trailing whitespace'
    ]


@pytest.mark.parametrize(("cost", "is_good"), [("-5", True), ("007", False), ("1e3", False)])
def test_the_cost_of_a_pods_deletion_is_a_number(cost: str, *, is_good: bool) -> None:
    key = "controller.kubernetes.io/pod-deletion-cost"
    found = errors(
        "v1", "Pod", metadata={"annotations": {key: cost}}, spec={"containers": [CONTAINER]}
    )

    wrong = f'metadata.annotations[{key}]: Invalid value: "{cost}": must be a 32bit integer'
    assert found == ([] if is_good else [wrong])


def test_a_token_in_a_volume_is_of_an_account_that_is_named() -> None:
    volume = {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}

    assert pod_errors(volumes=[volume], serviceAccountName="a") == []
    assert pod_errors(volumes=[volume]) == [
        "spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be "
        "specified when serviceAccountName is not set"
    ]


@pytest.mark.parametrize(("source", "is_good"), [({"emptyDir": {}}, True), ({"nfs": {}}, False)])
def test_a_file_of_variables_is_in_an_empty_directory(
    source: dict[str, Any], *, is_good: bool
) -> None:
    reference = {"volumeName": "v", "key": "K", "path": "p"}
    container = {**CONTAINER, "env": [{"name": "A", "valueFrom": {"fileKeyRef": reference}}]}
    found = pod_errors(containers=[container], volumes=[{"name": "v", **source}])

    wrong = (
        "spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "
        '"v": referenced volume must be of type emptyDir'
    )
    assert (wrong in found) is not is_good


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        ({}, []),
        ({"hostNetwork": True}, ["Forbidden: may not be specified when hostNetwork is true"]),
        ({"setHostnameAsFQDN": True},
         ["Forbidden: may not be specified when setHostnameAsFQDN is true"]),
        ({"hostnameOverride": "x" * 65}, ["Too long: may not be more than 64 bytes"]),
    ],
)  # fmt: skip
def test_a_hostname_that_overrides_all_others(spec: dict[str, Any], problems: list[str]) -> None:
    found = pod_errors(**{"hostnameOverride": "a.b", **spec})

    assert found == [f"spec.hostnameOverride: {problem}" for problem in problems]
