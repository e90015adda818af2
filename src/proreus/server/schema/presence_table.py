"""Facts about Kubernetes' Go types that ``presence`` looks up: one struct and its fields a line."""

from __future__ import annotations

from collections.abc import Mapping


def _table(text: str) -> Mapping[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in text.strip().splitlines():
        kind, *fields = line.split()
        found[kind] = found.get(kind, frozenset()) | frozenset(fields)
    return found


# Numbers and booleans that are plain values: zero and false are not written.
PLAIN = _table("""
APIServiceSpec insecureSkipTLSVerify
AWSElasticBlockStoreVolumeSource partition
Container stdin stdinOnce tty
ContainerImage sizeBytes
ContainerPort hostPort
ContainerStateTerminated signal
CustomResourceColumnDefinition priority
CustomResourceDefinitionSpec preserveUnknownFields
CustomResourceDefinitionVersion deprecated
DaemonSetSpec minReadySeconds
DaemonSetStatus numberAvailable numberUnavailable updatedNumberScheduled
DeploymentSpec minReadySeconds paused
DeploymentStatus availableReplicas readyReplicas replicas unavailableReplicas updatedReplicas
DeviceSubRequest count
EphemeralContainer stdin stdinOnce tty
Event count deprecatedCount
EventSeries count
ExactDeviceRequest count
GCEPersistentDiskVolumeSource partition
HorizontalPodAutoscalerStatus currentReplicas
ISCSIPersistentVolumeSource chapAuthDiscovery chapAuthSession
ISCSIVolumeSource chapAuthDiscovery chapAuthSession
JSONSchemaProps exclusiveMaximum exclusiveMinimum nullable uniqueItems
JSONSchemaProps x-kubernetes-embedded-resource x-kubernetes-int-or-string
JobStatus active failed succeeded
NodeSpec unschedulable
ObjectMeta generation
PodSpec hostIPC hostNetwork hostPID
PriorityClass globalDefault
Probe failureThreshold initialDelaySeconds periodSeconds successThreshold timeoutSeconds
ReplicaSetSpec minReadySeconds
ReplicaSetStatus availableReplicas fullyLabeledReplicas readyReplicas
ReplicationControllerSpec minReadySeconds
ReplicationControllerStatus availableReplicas fullyLabeledReplicas readyReplicas
ResourcePolicyRule clusterScope
ScaleIOPersistentVolumeSource sslEnabled
ScaleIOVolumeSource sslEnabled
ScaleSpec replicas
ServiceBackendPort number
ServicePort nodePort
ServiceSpec healthCheckNodePort publishNotReadyAddresses
StatefulSetSpec minReadySeconds
StatefulSetStatus currentReplicas readyReplicas updatedReplicas
Status code
StatusDetails retryAfterSeconds
SubjectAccessReviewStatus denied
TokenReviewStatus authenticated
""")

# Strings that are pointers: "" is written.
POINTERS = _table("""
AllocatedDeviceStatus shareID
AppArmorProfile localhostProfile
AzureDiskVolumeSource cachingMode fsType kind readOnly
CSIDriverSpec fsGroupPolicy
CSIVolumeSource fsType readOnly
ClusterTrustBundleProjection name signerName
Container restartPolicy
ContainerStatus stopSignal
CronJobSpec timeZone
CustomResourceDefinitionVersion deprecationWarning
CustomResourceSubresourceScale labelSelectorPath
DeleteOptions propagationPolicy
Device nodeName
DeviceAttribute string version
DeviceClassSpec extendedResourceName
DeviceConstraint distinctAttribute matchAttribute
DeviceRequestAllocationResult shareID
DeviceTaintSelector device driver pool
Endpoint hostname nodeName zone
EndpointAddress nodeName
EndpointPort appProtocol
EphemeralContainer restartPolicy
GRPCAction service
GlusterfsPersistentVolumeSource endpointsNamespace
HPAScalingRules selectPolicy
HorizontalPodAutoscalerStatus observedGeneration
HostPathVolumeSource type
ISCSIPersistentVolumeSource initiatorName
ISCSIVolumeSource initiatorName
IngressClassParametersReference apiGroup namespace scope
IngressPortStatus error
IngressSpec ingressClassName
JSONSchemaProps $ref x-kubernetes-list-type x-kubernetes-map-type
JobSpec completionMode managedBy podReplacementPolicy
JobStatus failedIndexes
LeaseSpec holderIdentity preferredHolder strategy
Lifecycle stopSignal
LoadBalancerIngress ipMode
LocalVolumeSource fsType
MatchResources matchPolicy
MutatingAdmissionPolicySpec failurePolicy
MutatingWebhook failurePolicy matchPolicy reinvocationPolicy sideEffects
NamedRuleWithOperations scope
NetworkPolicyPort protocol
ParamRef parameterNotFoundAction
PersistentVolumeClaimSpec storageClassName volumeAttributesClassName volumeMode
PersistentVolumeClaimStatus currentVolumeAttributesClassName
PersistentVolumeSpec volumeAttributesClassName volumeMode
PodDNSConfigOption value
PodDisruptionBudgetSpec unhealthyPodEvictionPolicy
PodFailurePolicyOnExitCodesRequirement containerName
PodResourceClaim resourceClaimName resourceClaimTemplateName
PodResourceClaimStatus resourceClaimName
PodSchedulingGroup podGroupName
PodSecurityContext fsGroupChangePolicy seLinuxChangePolicy supplementalGroupsPolicy
PodSpec hostnameOverride preemptionPolicy runtimeClassName
PortStatus error
Preconditions resourceVersion uid
PriorityClass preemptionPolicy
ResourceHealth message
ResourceSliceSpec nodeName
RuleWithOperations scope
SeccompProfile localhostProfile
SecurityContext procMount
ServicePort appProtocol
ServiceReference path
ServiceSpec internalTrafficPolicy ipFamilyPolicy loadBalancerClass trafficDistribution
StorageClass reclaimPolicy volumeBindingMode
SuccessPolicyRule succeededIndexes
TopologySpreadConstraint nodeAffinityPolicy nodeTaintsPolicy
TypedObjectReference namespace
ValidatingAdmissionPolicySpec failurePolicy
ValidatingWebhook failurePolicy matchPolicy sideEffects
Validation reason
ValidationRule optionalOldSelf reason
VolumeAttachmentSource persistentVolumeName
VolumeMount mountPropagation recursiveReadOnly
VolumeMountStatus recursiveReadOnly
WebhookClientConfig url
WindowsSecurityContextOptions gmsaCredentialSpec gmsaCredentialSpecName runAsUserName
""")

# Fields that are written whether given or not, though they are optional.
ALWAYS = _table("""
APIService spec status
AllocatedDeviceStatus conditions
AllocationResult devices
AzureFilePersistentVolumeSource secretNamespace
CSINode status
CSINodeDriver topologyKeys
CapacityRequestPolicy default
CertificateSigningRequest status
ClusterRole rules
Container resources
ContainerImage names
ContainerStateRunning startedAt
ContainerStateTerminated finishedAt startedAt
ContainerStatus lastState state
ControllerRevision revision
CronJob spec status
CustomResourceDefinition status
CustomResourceDefinitionStatus acceptedNames conditions storedVersions
DaemonSet spec status
DaemonSetCondition status type
DaemonSetSpec updateStrategy
Deployment spec status
DeploymentCondition status type
DeploymentSpec strategy
DeviceClaim requests
DeviceClass spec
DeviceTaintRule status
Endpoint conditions
EndpointSlice endpoints ports
EphemeralContainer resources
EventSeries lastObservedTime
FlowSchema spec status
FlowSchemaSpec matchingPrecedence
HorizontalPodAutoscaler spec status
HorizontalPodAutoscalerStatus currentMetrics
IPAddress spec
Ingress spec status
IngressClass spec
IngressServiceBackend port
IngressStatus loadBalancer
Job spec status
JobTemplateSpec spec
Lease spec
LimitRange spec
LocalSubjectAccessReview status
MutatingAdmissionPolicy spec
MutatingAdmissionPolicyBinding spec
Namespace spec status
NetworkPolicy spec
NetworkPolicySpec podSelector
Node spec status
NodeDaemonEndpoints kubeletEndpoint
NodeRuntimeHandler name
NodeStatus daemonEndpoints nodeInfo
PersistentVolume spec status
PersistentVolumeClaim spec status
PersistentVolumeClaimSpec resources
Pod spec status
PodCertificateRequest status
PodDisruptionBudget spec status
PodDisruptionBudgetStatus currentHealthy desiredHealthy disruptionsAllowed expectedPods
PodTemplate template
PodTemplateSpec spec
PriorityClass value
PriorityLevelConfiguration spec status
ProjectedVolumeSource sources
QueuingConfiguration handSize queueLengthLimit queues
ReplicaSet spec status
ReplicaSetCondition status type
ReplicaSetSpec template
ReplicationController spec status
ResourceClaim spec status
ResourceClaimSpec devices
ResourceClaimTemplate spec
ResourceClaimTemplateSpec spec
ResourceFieldSelector divisor
ResourcePolicyRule namespaces
ResourceQuota spec status
Role rules
RoleRef apiGroup
Scale spec status
SelfSubjectAccessReview status
SelfSubjectReview status
SelfSubjectReviewStatus userInfo
SelfSubjectRulesReview status
Service spec status
ServiceCIDR spec status
ServiceStatus loadBalancer
StatefulSet spec status
StatefulSetCondition status type
StatefulSetOrdinals start
StatefulSetSpec serviceName updateStrategy
StatefulSetStatus availableReplicas
StorageVersionMigration spec status
SubjectAccessReview status
TokenRequest spec status
TokenRequestSpec audiences boundObjectRef
TokenRequestStatus expirationTimestamp token
TokenReview status
TokenReviewStatus user
TypedLocalObjectReference apiGroup
TypedObjectReference apiGroup
ValidatingAdmissionPolicy spec status
ValidatingAdmissionPolicyBinding spec
VolumeAttachment status
VolumeError time
""")

# Lists and maps where an empty one differs from a missing one; the kind's rules drop or refuse it.
EMPTY_LISTS = _table("""
CustomResourceDefinitionSpec versions
HPAScalingRules policies
IngressSpec rules
JSONSchemaProps dependencies
ObjectMeta managedFields
PersistentVolumeSpec capacity
""")

# Pointers that are written as null when not given.
NULLS = _table("""
AzureFilePersistentVolumeSource secretNamespace
CapacityRequestPolicy default
DaemonSetSpec selector
DeploymentSpec selector
HTTPIngressPath pathType
MutatingWebhook sideEffects
ReplicaSetSpec selector
ScaleIOPersistentVolumeSource secretRef
ScaleIOVolumeSource secretRef
StatefulSetSpec selector
TokenRequestSpec boundObjectRef
TypedLocalObjectReference apiGroup
TypedObjectReference apiGroup
ValidatingWebhook sideEffects
""")

# Where the newer event type differs from the older one of the same name.
EVENT_FIELDS = {
    f"io.k8s.api.{kind}": fields
    for kind, fields in _table("""
core.v1.Event eventTime firstTimestamp lastTimestamp reportingComponent reportingInstance source
events.v1.Event deprecatedFirstTimestamp deprecatedLastTimestamp deprecatedSource eventTime
events.v1.Event regarding
""").items()
}
# Required by name, yet left out when empty.
OPTIONAL_THOUGH_REQUIRED = _table("""
CapacityRequestPolicyRange min
ContainerRestartRule action
ContainerRestartRuleOnExitCodes operator
CounterSet counters
CustomResourceDefinitionSpec versions
DeviceCounterConsumption counters
FlowSchemaCondition type
IPAddressSpec parentRef
ImageVolumeStatus imageRef
ParentReference name resource
PodCertificateProjection keyType signerName
PriorityLevelConfigurationCondition type
ReplicationControllerSpec selector
TokenReviewSpec token
ValidatingAdmissionPolicyBindingSpec policyName validationActions
""")
