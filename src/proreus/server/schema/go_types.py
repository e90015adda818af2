"""How Go names a type: for the messages of its JSON decoder."""

from __future__ import annotations

from typing import assert_never

from proreus.api.typed import Shape, TypeNode

# Fields whose Go type has a name of its own, by struct and field.
_NAMED_TYPES = """
ObjectMeta.uid OwnerReference.uid ObjectReference.uid BoundObjectReference.uid: types.UID
Preconditions.uid AdmissionResponse.uid StatusDetails.uid: types.UID
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
PodSecurityContext.seLinuxChangePolicy: v1.PodSELinuxChangePolicy
EphemeralContainer.restartPolicy: v1.ContainerRestartPolicy
ContainerResizePolicy.resourceName ResourceStatus.name: v1.ResourceName
ContainerResizePolicy.restartPolicy: v1.ResourceResizeRestartPolicy
ContainerRestartRule.action: v1.ContainerRestartRuleAction
ContainerRestartRuleOnExitCodes.operator: v1.ContainerRestartRuleOnExitCodesOperator
Lifecycle.stopSignal ContainerStatus.stopSignal: v1.Signal
ImageVolumeSource.pullPolicy: v1.PullPolicy
AzureDiskVolumeSource.cachingMode: v1.AzureDataDiskCachingMode
AzureDiskVolumeSource.kind: v1.AzureDataDiskKind
PodReadinessGate.conditionType: v1.PodConditionType
PodStatus.resize: v1.PodResizeStatus
VolumeMountStatus.recursiveReadOnly: v1.RecursiveReadOnlyMode
LoadBalancerIngress.ipMode: v1.LoadBalancerIPMode
PortStatus.protocol IngressPortStatus.protocol: v1.Protocol
NodeStatus.phase: v1.NodePhase
NodeStatus.volumesInUse: []v1.UniqueVolumeName
AttachedVolume.name: v1.UniqueVolumeName
NamespaceCondition.type: v1.NamespaceConditionType
PersistentVolumeStatus.phase: v1.PersistentVolumePhase
PersistentVolumeClaimStatus.phase: v1.PersistentVolumeClaimPhase
PersistentVolumeClaimStatus.accessModes: []v1.PersistentVolumeAccessMode
PersistentVolumeClaimStatus.allocatedResourceStatuses: map[v1.ResourceName]v1.ClaimResourceStatus
PersistentVolumeClaimCondition.type: v1.PersistentVolumeClaimConditionType
ModifyVolumeStatus.status: v1.PersistentVolumeClaimModifyVolumeStatus
ScopedResourceSelectorRequirement.operator: v1.ScopeSelectorOperator
ScopedResourceSelectorRequirement.scopeName: v1.ResourceQuotaScope
ReplicationControllerCondition.type: v1.ReplicationControllerConditionType
ReplicaSetCondition.type: v1.ReplicaSetConditionType
StatefulSetCondition.type: v1.StatefulSetConditionType
DaemonSetCondition.type: v1.DaemonSetConditionType
StatefulSetPersistentVolumeClaimRetentionPolicy.whenDeleted: \
v1.PersistentVolumeClaimRetentionPolicyType
StatefulSetPersistentVolumeClaimRetentionPolicy.whenScaled: \
v1.PersistentVolumeClaimRetentionPolicyType
JobCondition.type: v1.JobConditionType
PodFailurePolicyRule.action: v1.PodFailurePolicyAction
PodFailurePolicyOnExitCodesRequirement.operator: v1.PodFailurePolicyOnExitCodesOperator
PodFailurePolicyOnPodConditionsPattern.type: v1.PodConditionType
PodFailurePolicyOnPodConditionsPattern.status: v1.ConditionStatus
MetricSpec.type MetricStatus.type: v2.MetricSourceType
MetricTarget.type: v2.MetricTargetType
ResourceMetricSource.name ResourceMetricStatus.name: v1.ResourceName
ContainerResourceMetricSource.name ContainerResourceMetricStatus.name: v1.ResourceName
HPAScalingPolicy.type: v2.HPAScalingPolicyType
HPAScalingRules.selectPolicy: v2.ScalingPolicySelect
HorizontalPodAutoscalerCondition.type: v2.HorizontalPodAutoscalerConditionType
NamespaceCondition.status PersistentVolumeClaimCondition.status: v1.ConditionStatus
ReplicationControllerCondition.status ReplicaSetCondition.status: v1.ConditionStatus
StatefulSetCondition.status DaemonSetCondition.status JobCondition.status: v1.ConditionStatus
HorizontalPodAutoscalerCondition.status CertificateSigningRequestCondition.status: \
v1.ConditionStatus
FlowSchemaCondition.status PriorityLevelConfigurationCondition.status: v1.ConditionStatus
CustomResourceDefinitionCondition.status APIServiceCondition.status: v1.ConditionStatus
Condition.status: v1.ConditionStatus
CertificateSigningRequestSpec.usages: []v1.KeyUsage
CertificateSigningRequestCondition.type: v1.RequestConditionType
LeaseSpec.strategy: v1.CoordinatedLeaseStrategy
CSIDriverSpec.volumeLifecycleModes: []v1.VolumeLifecycleMode
CSIDriverSpec.fsGroupPolicy: v1.FSGroupPolicy
FlowDistinguisherMethod.type: v1.FlowDistinguisherMethodType
FlowSchemaCondition.type: v1.FlowSchemaConditionType
PriorityLevelConfigurationSpec.type: v1.PriorityLevelEnablement
PriorityLevelConfigurationCondition.type: v1.PriorityLevelConfigurationConditionType
LimitResponse.type: v1.LimitResponseType
MatchResources.matchPolicy ValidatingWebhook.matchPolicy: v1.MatchPolicyType
MutatingWebhook.matchPolicy: v1.MatchPolicyType
ValidatingWebhook.failurePolicy MutatingWebhook.failurePolicy: v1.FailurePolicyType
ValidatingAdmissionPolicySpec.failurePolicy: v1.FailurePolicyType
MutatingAdmissionPolicySpec.failurePolicy: v1.FailurePolicyType
MutatingAdmissionPolicySpec.reinvocationPolicy: v1.ReinvocationPolicyType
MutatingWebhook.reinvocationPolicy: v1.ReinvocationPolicyType
ValidatingWebhook.sideEffects MutatingWebhook.sideEffects: v1.SideEffectClass
Mutation.patchType AdmissionResponse.patchType: v1.PatchType
NamedRuleWithOperations.operations RuleWithOperations.operations: []v1.OperationType
NamedRuleWithOperations.scope RuleWithOperations.scope: v1.ScopeType
ValidatingAdmissionPolicyBindingSpec.validationActions: []v1.ValidationAction
ParamRef.parameterNotFoundAction: v1.ParameterNotFoundActionType
Validation.reason Status.reason: v1.StatusReason
StatusCause.reason: v1.CauseType
ExactDeviceRequest.allocationMode DeviceSubRequest.allocationMode: v1.DeviceAllocationMode
DeviceAllocationConfiguration.source: v1.AllocationConfigSource
DeviceTaint.effect DeviceToleration.effect: v1.DeviceTaintEffect
DeviceToleration.operator: v1.DeviceTolerationOperator
DeviceConstraint.matchAttribute DeviceConstraint.distinctAttribute: v1.FullyQualifiedName
CapacityRequirements.requests: map[v1.QualifiedName]resource.Quantity
Device.attributes: map[v1.QualifiedName]v1.DeviceAttribute
Device.capacity: map[v1.QualifiedName]v1.DeviceCapacity
DeviceRequestAllocationResult.consumedCapacity: map[v1.QualifiedName]resource.Quantity
DeviceRequestAllocationResult.shareID ResourceClaimConsumerReference.uid: types.UID
ValidationRule.reason: v1.FieldValueErrorReason
JSONSchemaProps.$schema: v1.JSONSchemaURL
JSONSchemaProps.enum: []v1.JSON
JSONSchemaProps.dependencies: v1.JSONSchemaDependencies
JSONSchemaProps.definitions: v1.JSONSchemaDefinitions
JSONSchemaProps.x-kubernetes-validations: v1.ValidationRules
CustomResourceDefinitionCondition.type: v1.CustomResourceDefinitionConditionType
APIServiceCondition.type: v1.APIServiceConditionType
UserInfo.extra SubjectAccessReviewSpec.extra: map[string]v1.ExtraValue
CertificateSigningRequestSpec.extra: map[string]v1.ExtraValue
FieldSelectorRequirement.operator: v1.FieldSelectorOperator
ConfigMapNodeConfigSource.uid: types.UID
UncountedTerminatedPods.failed UncountedTerminatedPods.succeeded: []types.UID
ResourceHealth.health: v1.ResourceHealthStatus
ResourceHealth.resourceID: v1.ResourceID
ComponentCondition.type: v1.ComponentConditionType
ComponentCondition.status: v1.ConditionStatus
"""
NAMED = {
    field: name
    for fields, _, name in (line.partition(": ") for line in _NAMED_TYPES.split("\n") if line)
    for field in fields.split()
}


def struct_name(node: TypeNode) -> str:
    """``PodSpec`` for io.k8s.api.core.v1.PodSpec."""
    return node.name.rpartition(".")[2]


# Of structs that share their name with another.
_NAMED_OF_GROUPS = {"io.k8s.api.flowcontrol.v1.Subject.kind": "v1.SubjectKind"}


def field_type(owner: TypeNode, key: str, node: TypeNode, *, depth: int) -> str:
    """Of the field ``key``, or of what the list or map in it holds, so many levels down."""
    named = NAMED.get(f"{struct_name(owner)}.{key}", "")
    named = named or _NAMED_OF_GROUPS.get(f"{owner.name}.{key}", "")
    for _ in range(depth):
        named = named.partition("]")[2]
    return named or go_type(node)


def go_type(node: TypeNode) -> str:
    match node.shape:
        case Shape.OBJECT:
            return ".".join(node.name.split(".")[-2:])
        case Shape.LIST:
            return f"[]{_held(node.element())}" if node.element else "[]interface {}"
        case Shape.MAP:
            inner = node.element() if node.element else None
            if inner is not None and inner.shape is Shape.QUANTITY:
                return "v1.ResourceList"
            return f"map[string]{_held(inner)}" if inner else "map[string]interface {}"
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


def _held(node: TypeNode) -> str:
    """As a part of another type. Times are strings only to their own decoders."""
    times = {Shape.TIME: "v1.Time", Shape.MICRO_TIME: "v1.MicroTime"}
    return times.get(node.shape) or go_type(node)


def json_type(value: object) -> str:
    """What Go's decoder calls a JSON value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"
