"""The resources of Kubernetes itself: one line each.

Only what builds a URL stands here; the server decides about verbs. The build reads it too, to give
the client's groups their types.
"""

# A line at the margin is a group version; below it: plural, kind, scope, short names.
TABLE = """
v1
  pods Pod namespaced po
  podtemplates PodTemplate namespaced
  replicationcontrollers ReplicationController namespaced rc
  bindings Binding namespaced
  services Service namespaced svc
  endpoints Endpoints namespaced ep
  componentstatuses ComponentStatus cluster cs
  namespaces Namespace cluster ns
  nodes Node cluster no
  persistentvolumes PersistentVolume cluster pv
  configmaps ConfigMap namespaced cm
  secrets Secret namespaced
  serviceaccounts ServiceAccount namespaced sa
  persistentvolumeclaims PersistentVolumeClaim namespaced pvc
  limitranges LimitRange namespaced limits
  resourcequotas ResourceQuota namespaced quota
  events Event namespaced ev
apps/v1
  controllerrevisions ControllerRevision namespaced
  daemonsets DaemonSet namespaced ds
  deployments Deployment namespaced deploy
  replicasets ReplicaSet namespaced rs
  statefulsets StatefulSet namespaced sts
batch/v1
  cronjobs CronJob namespaced cj
  jobs Job namespaced
autoscaling/v2
  horizontalpodautoscalers HorizontalPodAutoscaler namespaced hpa
autoscaling/v1
  horizontalpodautoscalers HorizontalPodAutoscaler namespaced hpa
policy/v1
  poddisruptionbudgets PodDisruptionBudget namespaced pdb
rbac.authorization.k8s.io/v1
  clusterroles ClusterRole cluster
  clusterrolebindings ClusterRoleBinding cluster
  roles Role namespaced
  rolebindings RoleBinding namespaced
coordination.k8s.io/v1
  leases Lease namespaced
discovery.k8s.io/v1
  endpointslices EndpointSlice namespaced
events.k8s.io/v1
  events Event namespaced ev
networking.k8s.io/v1
  ingresses Ingress namespaced ing
  ingressclasses IngressClass cluster
  ipaddresses IPAddress cluster ip
  networkpolicies NetworkPolicy namespaced netpol
  servicecidrs ServiceCIDR cluster
node.k8s.io/v1
  runtimeclasses RuntimeClass cluster
scheduling.k8s.io/v1
  priorityclasses PriorityClass cluster pc
storage.k8s.io/v1
  csidrivers CSIDriver cluster
  csinodes CSINode cluster
  csistoragecapacities CSIStorageCapacity namespaced
  storageclasses StorageClass cluster sc
  volumeattachments VolumeAttachment cluster
  volumeattributesclasses VolumeAttributesClass cluster vac
storagemigration.k8s.io/v1
  storageversionmigrations StorageVersionMigration cluster
admissionregistration.k8s.io/v1
  mutatingadmissionpolicies MutatingAdmissionPolicy cluster
  mutatingadmissionpolicybindings MutatingAdmissionPolicyBinding cluster
  mutatingwebhookconfigurations MutatingWebhookConfiguration cluster
  validatingadmissionpolicies ValidatingAdmissionPolicy cluster
  validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding cluster
  validatingwebhookconfigurations ValidatingWebhookConfiguration cluster
apiextensions.k8s.io/v1
  customresourcedefinitions CustomResourceDefinition cluster crd,crds
certificates.k8s.io/v1
  certificatesigningrequests CertificateSigningRequest cluster csr
  clustertrustbundles ClusterTrustBundle cluster
  podcertificaterequests PodCertificateRequest namespaced
flowcontrol.apiserver.k8s.io/v1
  flowschemas FlowSchema cluster
  prioritylevelconfigurations PriorityLevelConfiguration cluster
apiregistration.k8s.io/v1
  apiservices APIService cluster
resource.k8s.io/v1
  deviceclasses DeviceClass cluster
  devicetaintrules DeviceTaintRule cluster
  resourceclaims ResourceClaim namespaced
  resourceclaimtemplates ResourceClaimTemplate namespaced
  resourceslices ResourceSlice cluster
authentication.k8s.io/v1
  selfsubjectreviews SelfSubjectReview cluster
  tokenreviews TokenReview cluster
authorization.k8s.io/v1
  localsubjectaccessreviews LocalSubjectAccessReview namespaced
  selfsubjectaccessreviews SelfSubjectAccessReview cluster
  selfsubjectrulesreviews SelfSubjectRulesReview cluster
  subjectaccessreviews SubjectAccessReview cluster
"""
