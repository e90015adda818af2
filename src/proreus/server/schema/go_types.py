"""How Go names a type: for the messages of its JSON decoder."""

from __future__ import annotations

from typing import assert_never

from proreus.api.typed import Shape, TypeNode

# Fields whose Go type has a name of its own, by struct and field.
_NAMED_TYPES = """
ObjectMeta.uid OwnerReference.uid ObjectReference.uid BoundObjectReference.uid: types.UID
Preconditions.uid: types.UID
DeleteOptions.propagationPolicy: v1.DeletionPropagation
ManagedFieldsEntry.operation: v1.ManagedFieldsOperationType
LabelSelectorRequirement.operator: v1.LabelSelectorOperator
Container.imagePullPolicy EphemeralContainer.imagePullPolicy: v1.PullPolicy
Container.terminationMessagePolicy: v1.TerminationMessagePolicy
EphemeralContainer.terminationMessagePolicy: v1.TerminationMessagePolicy
Container.restartPolicy: v1.ContainerRestartPolicy
ContainerPort.protocol ServicePort.protocol EndpointPort.protocol: v1.Protocol
NetworkPolicyPort.protocol: v1.Protocol
HTTPGetAction.scheme: v1.URIScheme
VolumeMount.mountPropagation: v1.MountPropagationMode
VolumeMount.recursiveReadOnly: v1.RecursiveReadOnlyMode
Capabilities.add Capabilities.drop: []v1.Capability
SeccompProfile.type: v1.SeccompProfileType
AppArmorProfile.type: v1.AppArmorProfileType
SecurityContext.procMount: v1.ProcMountType
PodSecurityContext.fsGroupChangePolicy: v1.PodFSGroupChangePolicy
PodSecurityContext.supplementalGroupsPolicy: v1.SupplementalGroupsPolicy
PodSpec.dnsPolicy: v1.DNSPolicy
PodSpec.restartPolicy: v1.RestartPolicy
PodSpec.preemptionPolicy PriorityClass.preemptionPolicy: v1.PreemptionPolicy
PodOS.name: v1.OSName
Toleration.operator: v1.TolerationOperator
Toleration.effect Taint.effect: v1.TaintEffect
TopologySpreadConstraint.whenUnsatisfiable: v1.UnsatisfiableConstraintAction
TopologySpreadConstraint.nodeAffinityPolicy: v1.NodeInclusionPolicy
TopologySpreadConstraint.nodeTaintsPolicy: v1.NodeInclusionPolicy
NodeSelectorRequirement.operator: v1.NodeSelectorOperator
EmptyDirVolumeSource.medium: v1.StorageMedium
HostPathVolumeSource.type: v1.HostPathType
PodStatus.phase: v1.PodPhase
PodStatus.qosClass: v1.PodQOSClass
PodCondition.type: v1.PodConditionType
PodCondition.status NodeCondition.status DeploymentCondition.status: v1.ConditionStatus
NodeCondition.type: v1.NodeConditionType
NodeAddress.type: v1.NodeAddressType
NamespaceSpec.finalizers: []v1.FinalizerName
NamespaceStatus.phase: v1.NamespacePhase
PersistentVolumeSpec.accessModes: []v1.PersistentVolumeAccessMode
PersistentVolumeClaimSpec.accessModes: []v1.PersistentVolumeAccessMode
PersistentVolumeSpec.volumeMode PersistentVolumeClaimSpec.volumeMode: v1.PersistentVolumeMode
PersistentVolumeSpec.persistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimPolicy
StorageClass.reclaimPolicy: v1.PersistentVolumeReclaimPolicy
StorageClass.volumeBindingMode: v1.VolumeBindingMode
Secret.type: v1.SecretType
ServiceSpec.type: v1.ServiceType
ServiceSpec.sessionAffinity: v1.ServiceAffinity
ServiceSpec.externalTrafficPolicy: v1.ServiceExternalTrafficPolicy
ServiceSpec.internalTrafficPolicy: v1.ServiceInternalTrafficPolicy
ServiceSpec.ipFamilies: []v1.IPFamily
ServiceSpec.ipFamilyPolicy: v1.IPFamilyPolicy
ResourceQuotaSpec.scopes: []v1.ResourceQuotaScope
LimitRangeItem.type: v1.LimitType
DeploymentStrategy.type: v1.DeploymentStrategyType
DeploymentCondition.type: v1.DeploymentConditionType
StatefulSetSpec.podManagementPolicy: v1.PodManagementPolicyType
StatefulSetUpdateStrategy.type: v1.StatefulSetUpdateStrategyType
DaemonSetUpdateStrategy.type: v1.DaemonSetUpdateStrategyType
CronJobSpec.concurrencyPolicy: v1.ConcurrencyPolicy
JobSpec.completionMode: v1.CompletionMode
JobSpec.podReplacementPolicy: v1.PodReplacementPolicy
NetworkPolicySpec.policyTypes: []v1.PolicyType
HTTPIngressPath.pathType: v1.PathType
EndpointSlice.addressType: v1.AddressType
PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy: v1.UnhealthyPodEvictionPolicyType
CustomResourceDefinitionSpec.scope: v1.ResourceScope
CustomResourceConversion.strategy: v1.ConversionStrategyType
"""
NAMED = {
    field: name
    for fields, _, name in (line.partition(": ") for line in _NAMED_TYPES.split("\n") if line)
    for field in fields.split()
}


def struct_name(node: TypeNode) -> str:
    """``PodSpec`` for io.k8s.api.core.v1.PodSpec."""
    return node.name.rpartition(".")[2]


def field_type(owner: TypeNode, key: str, node: TypeNode, *, is_element: bool) -> str:
    """Of the field ``key``, or of what the list in it holds."""
    named = NAMED.get(f"{struct_name(owner)}.{key}", "")
    return (named.removeprefix("[]") if is_element else named) or go_type(node)


def go_type(node: TypeNode) -> str:
    match node.shape:
        case Shape.OBJECT:
            return ".".join(node.name.split(".")[-2:])
        case Shape.LIST:
            return f"[]{go_type(node.element())}" if node.element else "[]interface {}"
        case Shape.MAP:
            inner = node.element() if node.element else None
            if inner is not None and inner.shape is Shape.QUANTITY:
                return "v1.ResourceList"
            return f"map[string]{go_type(inner)}" if inner else "map[string]interface {}"
        case Shape.STRING | Shape.TIME | Shape.MICRO_TIME:
            return "string"
        case Shape.INTEGER | Shape.INT_OR_STRING:
            return node.format or "int32"
        case Shape.NUMBER:
            return "float64"
        case Shape.BOOLEAN:
            return "bool"
        case Shape.BYTES:
            return "[]uint8"
        case Shape.QUANTITY:
            return "resource.Quantity"
        case Shape.ANY:
            return "interface {}"
        case other:
            assert_never(other)


def json_type(value: object) -> str:
    """What Go's decoder calls a JSON value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"
