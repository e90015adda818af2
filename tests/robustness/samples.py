"""One small valid object of many kinds, and the path it is created at; fuzzing bends them."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

_POD: Json = {
    "containers": [
        {
            "name": "c",
            "image": "i:1",
            "ports": [{"name": "web", "containerPort": 80, "protocol": "TCP"}],
            "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}},
            "livenessProbe": {"httpGet": {"path": "/", "port": "web"}, "periodSeconds": 5},
            "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        }
    ],
    "initContainers": [{"name": "i", "image": "i"}],
    "volumes": [{"name": "v", "configMap": {"name": "a", "items": [{"key": "k", "path": "p"}]}}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
                ]
            }
        }
    },
    "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}],
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    ],
    "securityContext": {"runAsUser": 1, "sysctls": [{"name": "a.b", "value": "1"}]},
}
_LABELS = {"app": "a"}
_TEMPLATE = {"metadata": {"labels": _LABELS}, "spec": _POD}
_WORKLOAD = {"selector": {"matchLabels": _LABELS}, "template": _TEMPLATE}
_JOB = {
    "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}},
    "completions": 3,
    "completionMode": "Indexed",
    "backoffLimitPerIndex": 1,
    "podFailurePolicy": {
        "rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1]}}]
    },
    "successPolicy": {"rules": [{"succeededIndexes": "0-1,2", "succeededCount": 1}]},
}
_IN_DEFAULT: dict[tuple[str, str], Json] = {
    ("/api/v1", "configmaps"): {"data": {"a": "b"}, "binaryData": {"c": "aGk="}},
    ("/api/v1", "secrets"): {"type": "Opaque", "data": {"a": "aGk="}, "stringData": {"b": "c"}},
    ("/api/v1", "pods"): {"spec": _POD},
    ("/api/v1", "services"): {
        "spec": {
            "selector": _LABELS,
            "type": "NodePort",
            "ports": [{"name": "a", "port": 80, "targetPort": "web", "protocol": "TCP"}],
            "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10}},
        }
    },
    ("/api/v1", "persistentvolumeclaims"): {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "x"},
        }
    },
    ("/api/v1", "limitranges"): {
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1"}}]}
    },
    ("/api/v1", "resourcequotas"): {
        "spec": {"hard": {"pods": "1000", "requests.cpu": "1k"}, "scopes": ["NotBestEffort"]}
    },
    ("/api/v1", "events"): {
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "a"},
        "reason": "Because",
        "type": "Normal",
    },
    ("/apis/apps/v1", "deployments"): {
        "spec": {**_WORKLOAD, "replicas": 2, "strategy": {"rollingUpdate": {"maxSurge": "25%"}}}
    },
    ("/apis/apps/v1", "statefulsets"): {"spec": {**_WORKLOAD, "serviceName": "a"}},
    ("/apis/apps/v1", "daemonsets"): {"spec": _WORKLOAD},
    ("/apis/batch/v1", "jobs"): {"spec": _JOB},
    ("/apis/batch/v1", "cronjobs"): {
        "spec": {"schedule": "*/5 1-3 * * mon", "timeZone": "UTC", "jobTemplate": {"spec": _JOB}}
    },
    ("/apis/autoscaling/v2", "horizontalpodautoscalers"): {
        "spec": {
            "scaleTargetRef": {"kind": "Deployment", "name": "a", "apiVersion": "apps/v1"},
            "maxReplicas": 3,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {
                        "name": "cpu",
                        "target": {"type": "Utilization", "averageUtilization": 80},
                    },
                }
            ],
            "behavior": {
                "scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 9}]}
            },
        }
    },
    ("/apis/policy/v1", "poddisruptionbudgets"): {
        "spec": {"minAvailable": "50%", "selector": {"matchLabels": _LABELS}}
    },
    ("/apis/networking.k8s.io/v1", "ingresses"): {
        "spec": {
            "tls": [{"hosts": ["a.example"], "secretName": "s"}],
            "rules": [
                {
                    "host": "*.a.example",
                    "http": {
                        "paths": [
                            {
                                "path": "/",
                                "pathType": "Prefix",
                                "backend": {"service": {"name": "a", "port": {"number": 80}}},
                            }
                        ]
                    },
                }
            ],
        }
    },
    ("/apis/networking.k8s.io/v1", "networkpolicies"): {
        "spec": {
            "podSelector": {},
            "policyTypes": ["Ingress"],
            "ingress": [
                {
                    "from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}],
                    "ports": [{"port": 80, "endPort": 90}],
                }
            ],
        }
    },
    ("/apis/storage.k8s.io/v1", "csistoragecapacities"): {
        "storageClassName": "a",
        "capacity": "1Gi",
        "nodeTopology": {"matchLabels": _LABELS},
    },
    ("/apis/coordination.k8s.io/v1", "leases"): {
        "spec": {"holderIdentity": "a", "renewTime": "2026-01-01T00:00:00.000000Z"}
    },
    ("/apis/discovery.k8s.io/v1", "endpointslices"): {
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}],
        "ports": [{"name": "a", "port": 80, "protocol": "TCP"}],
    },
    ("/apis/rbac.authorization.k8s.io/v1", "roles"): {
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    },
    ("/apis/rbac.authorization.k8s.io/v1", "rolebindings"): {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"},
        "subjects": [{"kind": "User", "name": "a", "apiGroup": "rbac.authorization.k8s.io"}],
    },
}
_CLUSTER: dict[tuple[str, str], Json] = {
    ("/api/v1", "namespaces"): {"spec": {"finalizers": ["kubernetes"]}},
    ("/api/v1", "nodes"): {
        "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}], "podCIDRs": ["10.0.0.0/24"]}
    },
    ("/api/v1", "persistentvolumes"): {
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/a"},
        }
    },
    ("/apis/storage.k8s.io/v1", "storageclasses"): {
        "provisioner": "a.example/b",
        "reclaimPolicy": "Retain",
        "volumeBindingMode": "Immediate",
        "parameters": {"a": "b"},
    },
    ("/apis/storage.k8s.io/v1", "csidrivers"): {
        "spec": {"tokenRequests": [{"audience": "a", "expirationSeconds": 600}]}
    },
    ("/apis/storage.k8s.io/v1", "csinodes"): {
        "spec": {
            "drivers": [
                {"name": "a", "nodeID": "n", "topologyKeys": ["z"], "allocatable": {"count": 1}}
            ]
        }
    },
    ("/apis/storage.k8s.io/v1", "volumeattachments"): {
        "spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    },
    ("/apis/networking.k8s.io/v1", "servicecidrs"): {
        "spec": {"cidrs": ["10.1.0.0/16", "2001:db8::/112"]}
    },
    ("/apis/scheduling.k8s.io/v1", "priorityclasses"): {"value": 10, "globalDefault": False},
    ("/apis/admissionregistration.k8s.io/v1", "validatingwebhookconfigurations"): {
        "webhooks": [
            {
                "name": "a.b.example",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "clientConfig": {"service": {"namespace": "default", "name": "a", "path": "/a"}},
                "rules": [
                    {
                        "apiGroups": ["nothing.example"],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["nothings"],
                    }
                ],
            }
        ]
    },
    ("/apis/flowcontrol.apiserver.k8s.io/v1", "flowschemas"): {
        "spec": {"priorityLevelConfiguration": {"name": "a"}, "matchingPrecedence": 5}
    },
    ("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions"): {
        "spec": {
            "group": "a.example",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {"n": {"type": "integer", "maximum": 5}},
                                }
                            },
                        }
                    },
                    "additionalPrinterColumns": [
                        {"name": "N", "type": "integer", "jsonPath": ".spec.n"}
                    ],
                    "subresources": {
                        "status": {},
                        "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"},
                    },
                }
            ],
        }
    },
}


def samples() -> list[tuple[str, Json]]:
    """(collection path, object) pairs."""
    found = [
        (f"{root}/namespaces/default/{plural}", {"metadata": _metadata(), **fields})
        for (root, plural), fields in _IN_DEFAULT.items()
    ]
    for (root, plural), fields in _CLUSTER.items():
        metadata = _metadata()
        if plural == "customresourcedefinitions":
            metadata["name"] = "things.a.example"
        found.append((f"{root}/{plural}", {"metadata": metadata, **fields}))
    return found


def _metadata() -> Json:
    return {
        "name": "a",
        "labels": {"app": "a"},
        "annotations": {"a.example/note": "x"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": "u"}],
        "finalizers": ["a.example/keep"],
    }
