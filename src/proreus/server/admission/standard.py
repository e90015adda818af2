"""The admission plugins of a server by their names, each in its place in Kubernetes' order.

A plugin changes objects in its mutating half only, and the validating halves run on what will be
stored. ResourceQuota comes last: what it charges would not be given back.
"""

from __future__ import annotations

from collections.abc import Iterator

from proreus.aio.clock import Clock
from proreus.api.group_version import GroupResource
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.admin_access import AdminAccess
from proreus.server.admission.configuration_file import AdmissionConfiguration
from proreus.server.admission.options import PLUGINS, AdmissionOptions
from proreus.server.admission.plugins.certificate_decisions import CertificateDecisions
from proreus.server.admission.plugins.certificate_subject_restriction import (
    restrict_certificate_subject,
)
from proreus.server.admission.plugins.claim_resize import PersistentVolumeClaimResize
from proreus.server.admission.plugins.cluster_trust_bundle_attest import ClusterTrustBundleAttest
from proreus.server.admission.plugins.default_classes import (
    INGRESS_CLASS,
    STORAGE_CLASS,
    DefaultClass,
)
from proreus.server.admission.plugins.default_toleration_seconds import add_default_tolerations
from proreus.server.admission.plugins.limit_ranger import LimitRanger
from proreus.server.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from proreus.server.admission.plugins.pod_security import SECURED, PodSecurity
from proreus.server.admission.plugins.pod_topology_labels import PodTopologyLabels
from proreus.server.admission.plugins.priority import Priority, protect_system_classes
from proreus.server.admission.plugins.resource_quota import ResourceQuota
from proreus.server.admission.plugins.runtime_class import RuntimeClass
from proreus.server.admission.plugins.service_account import PodServiceAccounts
from proreus.server.admission.plugins.signing_requests import REQUESTS, SigningRequests
from proreus.server.admission.plugins.storage_in_use import PROTECTED, protect_storage
from proreus.server.admission.plugins.taint_nodes_by_condition import taint_new_node
from proreus.server.admission.pod_certificate_signing import PodCertificateSigning
from proreus.server.admission.policies.plugin import AdmissionPolicies
from proreus.server.admission.policies.rights import PolicyParamRights
from proreus.server.admission.webhooks.plugin import AdmissionWebhooks
from proreus.server.authz.modes import AccessControl
from proreus.server.authz.rbac.following import GROUP as RBAC_GROUP
from proreus.server.registry.admission import CREATE, DELETE, UPDATE, Admission
from proreus.server.registry.admission_step import AdmissionStep, Admit, PluginHalf
from proreus.server.registry.collections import Collections

_CREATES, _UPDATES = frozenset({CREATE}), frozenset({UPDATE})
_WRITES = _CREATES | _UPDATES
_CHANGES = _WRITES | {DELETE}
_PODS, _NODES = frozenset({GroupResource("", "pods")}), frozenset({GroupResource("", "nodes")})
_CLAIMS, _INGRESSES = frozenset({STORAGE_CLASS.resource}), frozenset({INGRESS_CLASS.resource})
_PRIORITY_CLASSES = frozenset({GroupResource("scheduling.k8s.io", "priorityclasses")})
_TRUST_BUNDLES = frozenset({GroupResource("certificates.k8s.io", "clustertrustbundles")})
_SIGNING_REQUESTS = frozenset({REQUESTS})
# Subresources; "" is the object itself.
_ITSELF = frozenset({""})
_SIZES = _ITSELF | {"resize"}
_CONTAINERS = _ITSELF | {"ephemeralcontainers"}
_BINDINGS = _ITSELF | {"binding"}


@dataclass(frozen=True, slots=True)
class Plugin:
    """Without a half it does nothing in it. What it is for: ``resources``, ``operations`` and
    ``subresources``; None: all."""

    name: str
    mutate: Admit | None = None
    validate: Admit | None = None
    resources: frozenset[GroupResource] | None = None
    operations: frozenset[str] | None = None
    subresources: frozenset[str] | None = None

    def half(self, admit: Admit) -> PluginHalf:
        return PluginHalf(self.name, admit, self.resources, self.operations, self.subresources)


def standard_admission(
    collections: Collections,
    clock: Clock,
    access: AccessControl,
    policies: AdmissionPolicies,
    webhooks: AdmissionWebhooks,
    options: AdmissionOptions,
    configuration: AdmissionConfiguration,
    params: PolicyParamRights,
) -> Admission:
    enabled = options.enabled(with_node_authorizer=access.restricts_nodes)
    every = list(_plugins(collections, clock, access, policies, webhooks, configuration))
    assert tuple(plugin.name for plugin in every) == PLUGINS, "all of them, in their order"
    plugins = [plugin for plugin in every if plugin.name in enabled]
    now = clock.monotonic
    mutating = [plugin.half(plugin.mutate) for plugin in plugins if plugin.mutate]
    validating = [plugin.half(plugin.validate) for plugin in plugins if plugin.validate]
    return Admission(
        mutating=AdmissionStep("admit", mutating, now),
        registry={
            REQUESTS.group: (
                SigningRequests(clock).admit,
                PodCertificateSigning(access.authorization).admit,
            ),
            "resource.k8s.io": (AdminAccess(collections.named("", "v1", "namespaces")).admit,),
            "scheduling.k8s.io": (protect_system_classes,),
            RBAC_GROUP: access.after_mutation,
        },
        before_validation=(
            (*access.before_validation, params.admit) if access.before_validation else ()
        ),
        validating=AdmissionStep("validate", validating, now),
    )


def _plugins(
    collections: Collections,
    clock: Clock,
    access: AccessControl,
    policies: AdmissionPolicies,
    webhooks: AdmissionWebhooks,
    configuration: AdmissionConfiguration,
) -> Iterator[Plugin]:
    """In the order of ``PLUGINS``."""
    named, authorization = collections.named, access.authorization
    namespaces = named("", "v1", "namespaces")
    lifecycle = NamespaceLifecycle(namespaces, clock)
    limits = LimitRanger(named("", "v1", "limitranges"))
    priority = Priority(named("scheduling.k8s.io", "v1", "priorityclasses"))
    runtime = RuntimeClass(named("node.k8s.io", "v1", "runtimeclasses"))
    accounts = PodServiceAccounts(named("", "v1", "serviceaccounts"), clock)
    storage_classes = named("storage.k8s.io", "v1", "storageclasses")
    storage_class = DefaultClass(STORAGE_CLASS, storage_classes)
    resize = PersistentVolumeClaimResize(storage_classes)
    ingress_class = DefaultClass(INGRESS_CLASS, named("networking.k8s.io", "v1", "ingressclasses"))
    security = PodSecurity(namespaces, named("", "v1", "pods"), clock, configuration.pod_security)
    topology = PodTopologyLabels(named("", "v1", "nodes"))
    decisions = CertificateDecisions(authorization)
    attest = ClusterTrustBundleAttest(authorization)
    quota = ResourceQuota(named("", "v1", "resourcequotas"))
    set_limits, check_limits = limits.set_defaults, limits.check_bounds
    set_account, check_account = accounts.set_account, accounts.check_account
    set_priority, check_default = priority.set_priority, priority.check_default
    restrict_subject = restrict_certificate_subject
    yield Plugin("NamespaceLifecycle", lifecycle.admit, operations=_CHANGES)
    yield Plugin("LimitRanger", set_limits, check_limits, _PODS | _CLAIMS, _WRITES, _SIZES)
    yield Plugin("ServiceAccount", set_account, check_account, _PODS, _WRITES, _CONTAINERS)
    yield Plugin("NodeRestriction", access.node_restriction, operations=_CHANGES)
    yield Plugin("TaintNodesByCondition", taint_new_node, None, _NODES, _CREATES, _ITSELF)
    yield Plugin("PodSecurity", None, security.check, SECURED, _WRITES, _CONTAINERS | _SIZES)
    yield Plugin(
        "Priority", set_priority, check_default, _PODS | _PRIORITY_CLASSES, _WRITES, _ITSELF
    )
    yield Plugin("DefaultTolerationSeconds", add_default_tolerations, None, _PODS, _WRITES, _ITSELF)
    yield Plugin("DefaultStorageClass", storage_class.set_class, None, _CLAIMS, _CREATES, _ITSELF)
    yield Plugin(
        "StorageObjectInUseProtection", protect_storage, None, PROTECTED, _CREATES, _ITSELF
    )
    yield Plugin(
        "PersistentVolumeClaimResize", None, resize.check_growth, _CLAIMS, _UPDATES, _ITSELF
    )
    yield Plugin("RuntimeClass", runtime.set_overhead, None, _PODS, _CREATES, _ITSELF)
    yield Plugin("CertificateApproval", None, decisions.check_approval, _SIGNING_REQUESTS, _UPDATES)
    yield Plugin("CertificateSigning", None, decisions.check_signing, _SIGNING_REQUESTS, _UPDATES)
    yield Plugin("ClusterTrustBundleAttest", None, attest.admit, _TRUST_BUNDLES, _WRITES)
    yield Plugin(
        "CertificateSubjectRestriction", None, restrict_subject, _SIGNING_REQUESTS, _CREATES
    )
    yield Plugin("DefaultIngressClass", ingress_class.set_class, None, _INGRESSES, _CREATES)
    yield Plugin("PodTopologyLabels", topology.set_labels, None, _PODS, _CREATES, _BINDINGS)
    yield Plugin("MutatingAdmissionPolicy", policies.mutate)
    yield Plugin("MutatingAdmissionWebhook", webhooks.mutating.admit)
    yield Plugin("ValidatingAdmissionPolicy", validate=policies.validate)
    yield Plugin("ValidatingAdmissionWebhook", validate=webhooks.validating.admit)
    yield Plugin("ResourceQuota", None, quota.admit, None, _WRITES, _SIZES)
