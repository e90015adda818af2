"""Values that fields are limited to, and defaults that are not just zero: by type and field."""

from __future__ import annotations

from typing import Any

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_CONDITION = ("False", "True", "Unknown")

ENUMS: dict[tuple[str, str], tuple[str, ...]] = {
    ("Container", "imagePullPolicy"): ("Always", "IfNotPresent", "Never"),
    ("Container", "terminationMessagePolicy"): ("FallbackToLogsOnError", "File"),
    ("EphemeralContainer", "imagePullPolicy"): ("Always", "IfNotPresent", "Never"),
    ("EphemeralContainer", "terminationMessagePolicy"): ("FallbackToLogsOnError", "File"),
    ("ContainerPort", "protocol"): _PROTOCOLS,
    ("ServicePort", "protocol"): _PROTOCOLS,
    ("VolumeMount", "mountPropagation"): ("Bidirectional", "HostToContainer", "None"),
    ("NamespaceStatus", "phase"): ("Active", "Terminating"),
    ("PodSpec", "dnsPolicy"): ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    ("PodSpec", "restartPolicy"): ("Always", "Never", "OnFailure"),
    ("PodSpec", "preemptionPolicy"): ("Never", "PreemptLowerPriority"),
    ("PodStatus", "phase"): ("Failed", "Pending", "Running", "Succeeded", "Unknown"),
    ("PodStatus", "qosClass"): ("BestEffort", "Burstable", "Guaranteed"),
    ("HTTPGetAction", "scheme"): ("HTTP", "HTTPS"),
    ("Toleration", "operator"): ("Equal", "Exists", "Gt", "Lt"),
    ("Toleration", "effect"): ("NoExecute", "NoSchedule", "PreferNoSchedule"),
    ("Taint", "effect"): ("NoExecute", "NoSchedule", "PreferNoSchedule"),
    ("ServiceSpec", "type"): ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"),
    ("ServiceSpec", "sessionAffinity"): ("ClientIP", "None"),
    ("ServiceSpec", "externalTrafficPolicy"): ("Cluster", "Local"),
    ("ServiceSpec", "internalTrafficPolicy"): ("Cluster", "Local"),
    ("DeploymentStrategy", "type"): ("Recreate", "RollingUpdate"),
    ("DaemonSetUpdateStrategy", "type"): ("OnDelete", "RollingUpdate"),
    ("StatefulSetUpdateStrategy", "type"): ("OnDelete", "RollingUpdate"),
    ("StatefulSetSpec", "podManagementPolicy"): ("OrderedReady", "Parallel"),
    ("CronJobSpec", "concurrencyPolicy"): ("Allow", "Forbid", "Replace"),
    ("JobSpec", "completionMode"): ("Indexed", "NonIndexed"),
    ("PersistentVolumeSpec", "persistentVolumeReclaimPolicy"): ("Delete", "Recycle", "Retain"),
    ("PersistentVolumeSpec", "volumeMode"): ("Block", "Filesystem"),
    ("PersistentVolumeClaimSpec", "volumeMode"): ("Block", "Filesystem"),
    ("StorageClass", "reclaimPolicy"): ("Delete", "Recycle", "Retain"),
    ("StorageClass", "volumeBindingMode"): ("Immediate", "WaitForFirstConsumer"),
    ("HTTPIngressPath", "pathType"): ("Exact", "ImplementationSpecific", "Prefix"),
    ("EndpointSlice", "addressType"): ("FQDN", "IPv4", "IPv6"),
}

REAL_DEFAULTS: dict[tuple[str, str], Any] = {
    ("ContainerPort", "protocol"): "TCP",
    ("ServicePort", "protocol"): "TCP",
    ("Toleration", "operator"): "Equal",
}
