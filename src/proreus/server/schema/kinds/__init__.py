"""The rules of built-in kinds: defaults, what a write must not touch, validation, warnings.

One file per family of kinds; ``rules_for`` is the table. ``findings`` collects violations, the
files without rules of their own (``containers``, ``volumes``, ``scheduling``, …) are the parts that
several kinds share.
"""

from __future__ import annotations

from functools import cache

from proreus.api.group_version import GroupKind
from proreus.server.schema.kinds import (
    addresses,
    admission_policies,
    autoscaling,
    certificates,
    classes,
    configuration,
    cron_jobs,
    events,
    flow_control,
    ingresses,
    jobs,
    namespaces,
    network_policies,
    pods,
    quotas,
    rbac,
    service_networks,
    services,
    stateful_sets,
    storage,
    storage_drivers,
    volume_claims,
    webhooks,
    workloads,
)
from proreus.server.schema.kinds.empty_status import with_empty_status
from proreus.server.schema.rules import Rules

_RULES: dict[str, dict[str, Rules]] = {
    "": {
        "ConfigMap": configuration.CONFIG_MAP,
        "Endpoints": addresses.ENDPOINTS,
        "Event": events.CORE_EVENT,
        "LimitRange": quotas.LIMIT_RANGE,
        "Namespace": namespaces.NAMESPACE,
        "Node": namespaces.NODE,
        "PersistentVolume": storage.PERSISTENT_VOLUME,
        "PersistentVolumeClaim": volume_claims.PERSISTENT_VOLUME_CLAIM,
        "Pod": pods.POD,
        "PodTemplate": pods.POD_TEMPLATE,
        "ReplicationController": workloads.REPLICATION_CONTROLLER,
        "ResourceQuota": quotas.RESOURCE_QUOTA,
        "Secret": configuration.SECRET,
        "Service": services.SERVICE,
    },
    "admissionregistration.k8s.io": {
        "MutatingAdmissionPolicy": admission_policies.MUTATING_POLICY,
        "MutatingAdmissionPolicyBinding": admission_policies.MUTATING_POLICY_BINDING,
        "MutatingWebhookConfiguration": webhooks.MUTATING_WEBHOOKS,
        "ValidatingAdmissionPolicy": admission_policies.VALIDATING_POLICY,
        "ValidatingAdmissionPolicyBinding": admission_policies.VALIDATING_POLICY_BINDING,
        "ValidatingWebhookConfiguration": webhooks.VALIDATING_WEBHOOKS,
    },
    "apiregistration.k8s.io": {"APIService": service_networks.API_SERVICE},
    "apps": {
        "ControllerRevision": stateful_sets.CONTROLLER_REVISION,
        "DaemonSet": stateful_sets.DAEMON_SET,
        "Deployment": workloads.DEPLOYMENT,
        "ReplicaSet": workloads.REPLICA_SET,
        "StatefulSet": stateful_sets.STATEFUL_SET,
    },
    "authentication.k8s.io": {"TokenRequest": classes.TOKEN_REQUEST},
    "autoscaling": {"HorizontalPodAutoscaler": autoscaling.HORIZONTAL_POD_AUTOSCALER},
    "batch": {"CronJob": cron_jobs.CRON_JOB, "Job": jobs.JOB},
    "certificates.k8s.io": {
        "CertificateSigningRequest": certificates.CERTIFICATE_SIGNING_REQUEST,
    },
    "coordination.k8s.io": {"Lease": classes.LEASE},
    "discovery.k8s.io": {"EndpointSlice": addresses.ENDPOINT_SLICE},
    "events.k8s.io": {"Event": events.EVENT},
    "flowcontrol.apiserver.k8s.io": {
        "FlowSchema": flow_control.FLOW_SCHEMA,
        "PriorityLevelConfiguration": flow_control.PRIORITY_LEVEL,
    },
    "networking.k8s.io": {
        "Ingress": ingresses.INGRESS,
        "IngressClass": ingresses.INGRESS_CLASS,
        "IPAddress": service_networks.IP_ADDRESS,
        "NetworkPolicy": network_policies.NETWORK_POLICY,
        "ServiceCIDR": service_networks.SERVICE_CIDR,
    },
    "node.k8s.io": {"RuntimeClass": classes.RUNTIME_CLASS},
    "policy": {"PodDisruptionBudget": autoscaling.POD_DISRUPTION_BUDGET},
    "rbac.authorization.k8s.io": {
        "ClusterRole": rbac.CLUSTER_ROLE,
        "ClusterRoleBinding": rbac.CLUSTER_ROLE_BINDING,
        "Role": rbac.ROLE,
        "RoleBinding": rbac.ROLE_BINDING,
    },
    "resource.k8s.io": {
        "ResourceClaim": certificates.RESOURCE_CLAIM,
        "ResourceClaimTemplate": certificates.RESOURCE_CLAIM_TEMPLATE,
    },
    "scheduling.k8s.io": {"PriorityClass": classes.PRIORITY_CLASS},
    "storage.k8s.io": {
        "CSIDriver": storage_drivers.CSI_DRIVER,
        "CSINode": storage_drivers.CSI_NODE,
        "CSIStorageCapacity": storage_drivers.CSI_STORAGE_CAPACITY,
        "StorageClass": storage.STORAGE_CLASS,
        "VolumeAttachment": storage_drivers.VOLUME_ATTACHMENT,
        "VolumeAttributesClass": storage.VOLUME_ATTRIBUTES_CLASS,
    },
}


@cache
def rules_for(group_kind: GroupKind) -> Rules:
    """The kind's rules; plain ones for kinds that have none of their own."""
    own = _RULES.get(group_kind.group, {}).get(group_kind.kind, Rules())
    return with_empty_status(group_kind, own)
