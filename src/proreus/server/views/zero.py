"""What a typed server writes of an object that has nothing but metadata: bookmarks show it.

Fields that Kubernetes' types write even when unset. Clients ignore them in bookmarks, but compare
equal only with them. Kinds not named here have none (ConfigMap), or are custom.
"""

from __future__ import annotations

from typing import Any

from proreus.api.group_version import GroupVersionKind
from proreus.api.wire import json

_TEMPLATE: dict[str, Any] = {"metadata": {}, "spec": {"containers": None}}
_WORKLOAD: dict[str, Any] = {"selector": None, "template": _TEMPLATE}
_SCALE_TARGET: dict[str, Any] = {"scaleTargetRef": {"kind": "", "name": ""}, "maxReplicas": 0}
_NO_NAMES = {"plural": "", "kind": ""}
_NODE_ABOUT = (
    "machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion",
    "kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture",
)  # fmt: skip
_SPEC: dict[str, Any] = {"spec": {}}
_SPEC_STATUS: dict[str, Any] = {"spec": {}, "status": {}}
_BINDING: dict[str, Any] = {"roleRef": {"apiGroup": "", "kind": "", "name": ""}}

_CORE: dict[str, dict[str, Any]] = {
    "Event": {
        "involvedObject": {}, "source": {}, "firstTimestamp": None, "lastTimestamp": None,
        "eventTime": None, "reportingComponent": "", "reportingInstance": "",
    },
    "LimitRange": {"spec": {"limits": None}},
    "Namespace": _SPEC_STATUS,
    "Node": {
        "spec": {},
        "status": {
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
            "nodeInfo": dict.fromkeys(_NODE_ABOUT, ""),
        },
    },
    "PersistentVolume": _SPEC_STATUS,
    "PersistentVolumeClaim": {"spec": {"resources": {}}, "status": {}},
    "Pod": {"spec": {"containers": None}, "status": {}},
    "PodTemplate": {"template": _TEMPLATE},
    "ReplicationController": {"spec": {}, "status": {"replicas": 0}},
    "ResourceQuota": _SPEC_STATUS,
    "Service": {"spec": {}, "status": {"loadBalancer": {}}},
}  # fmt: skip

_APPS: dict[str, dict[str, Any]] = {
    "ControllerRevision": {"data": None, "revision": 0},
    "DaemonSet": {
        "spec": {**_WORKLOAD, "updateStrategy": {}},
        "status": {
            "currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0,
            "numberReady": 0,
        },
    },
    "Deployment": {"spec": {**_WORKLOAD, "strategy": {}}, "status": {}},
    "ReplicaSet": {"spec": _WORKLOAD, "status": {"replicas": 0}},
    "StatefulSet": {
        "spec": {**_WORKLOAD, "serviceName": "", "updateStrategy": {}},
        "status": {"replicas": 0, "availableReplicas": 0},
    },
}  # fmt: skip

_OTHERS: dict[str, dict[str, Any]] = {
    "APIService": {"spec": {"groupPriorityMinimum": 0, "versionPriority": 0}, "status": {}},
    "CSIDriver": _SPEC,
    "CSINode": {"spec": {"drivers": None}},
    "CSIStorageCapacity": {"storageClassName": ""},
    "CertificateSigningRequest": {"spec": {"request": None, "signerName": ""}, "status": {}},
    "ClusterRole": {"rules": None},
    "ClusterRoleBinding": _BINDING,
    "CronJob": {
        "spec": {
            "schedule": "",
            "jobTemplate": {"metadata": {}, "spec": {"template": _TEMPLATE}},
        },
        "status": {},
    },
    "CustomResourceDefinition": {
        "spec": {"group": "", "names": _NO_NAMES, "scope": "", "versions": None},
        "status": {"conditions": None, "acceptedNames": _NO_NAMES, "storedVersions": None},
    },
    "DeviceClass": _SPEC,
    "EndpointSlice": {"addressType": "", "endpoints": None, "ports": None},
    "FlowSchema": {
        "spec": {"priorityLevelConfiguration": {"name": ""}, "matchingPrecedence": 0},
        "status": {},
    },
    "Ingress": {"spec": {}, "status": {"loadBalancer": {}}},
    "IngressClass": _SPEC,
    "IPAddress": {"spec": {"parentRef": None}},
    "Job": {"spec": {"template": _TEMPLATE}, "status": {}},
    "Lease": _SPEC,
    "MutatingAdmissionPolicy": _SPEC,
    "MutatingAdmissionPolicyBinding": _SPEC,
    "NetworkPolicy": {"spec": {"podSelector": {}}},
    "PodDisruptionBudget": {
        "spec": {},
        "status": {
            "disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0,
        },
    },
    "PriorityClass": {"value": 0},
    "PriorityLevelConfiguration": {"spec": {"type": ""}, "status": {}},
    "ResourceClaim": {"spec": {"devices": {}}, "status": {}},
    "ResourceClaimTemplate": {"spec": {"metadata": {}, "spec": {"devices": {}}}},
    "ResourceSlice": {
        "spec": {
            "driver": "",
            "pool": {"name": "", "generation": 0, "resourceSliceCount": 0},
        }
    },
    "Role": {"rules": None},
    "RoleBinding": _BINDING,
    "RuntimeClass": {"handler": ""},
    "ServiceCIDR": {"spec": {"cidrs": None}, "status": {}},
    "StorageClass": {"provisioner": ""},
    "ValidatingAdmissionPolicy": _SPEC_STATUS,
    "ValidatingAdmissionPolicyBinding": _SPEC,
    "VolumeAttachment": {
        "spec": {"attacher": "", "source": {}, "nodeName": ""},
        "status": {"attached": False},
    },
    "VolumeAttributesClass": {"driverName": ""},
}  # fmt: skip

# Kinds whose name alone does not tell: two versions, or two groups.
_BY_TYPE: dict[tuple[str, str, str], dict[str, Any]] = {
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): {
        "spec": _SCALE_TARGET,
        "status": {"currentReplicas": 0, "desiredReplicas": 0},
    },
    ("autoscaling", "v2", "HorizontalPodAutoscaler"): {
        "spec": _SCALE_TARGET,
        "status": {"desiredReplicas": 0, "currentMetrics": None},
    },
    ("events.k8s.io", "v1", "Event"): {
        "eventTime": None,
        "regarding": {},
        "deprecatedSource": {},
        "deprecatedFirstTimestamp": None,
        "deprecatedLastTimestamp": None,
    },
}


def zero_body(gvk: GroupVersionKind) -> bytes:
    """The fields as bytes that follow metadata: b"" or b',"spec":{}'."""
    fields = _BY_TYPE.get((gvk.group, gvk.version, gvk.kind))
    if fields is None:
        table = {"": _CORE, "apps": _APPS}.get(gvk.group, _OTHERS)
        fields = table.get(gvk.kind)
    return b"," + json.encode(fields)[1:-1] if fields else b""
