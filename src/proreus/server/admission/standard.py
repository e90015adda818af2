"""The admission plugins of a server by their names, each in its place in Kubernetes' order.

A plugin changes objects in its mutating half only, and the validating halves run on what will be
stored. ResourceQuota comes last: what it charges would not be given back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

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
from proreus.server.admission.plugins.pod_resize import PodResize
from proreus.server.admission.plugins.pod_security import SECURED, PodSecurity
from proreus.server.admission.plugins.pod_topology_labels import PodTopologyLabels
from proreus.server.admission.plugins.priority import Priority, protect_system_classes
from proreus.server.admission.plugins.resource_quota import GROWING, ResourceQuota
from proreus.server.admission.plugins.runtime_class import RuntimeClass
from proreus.server.admission.plugins.service_account import PodServiceAccounts
from proreus.server.admission.plugins.signing_requests import REQUESTS, SigningRequests
from proreus.server.admission.plugins.storage_in_use import PROTECTED, protect_storage
from proreus.server.admission.plugins.taint_nodes_by_condition import taint_new_node
from proreus.server.admission.pod_certificate_signing import PodCertificateSigning
from proreus.server.admission.pod_security.metrics import PodSecurityMetrics
from proreus.server.admission.policies.plugin import AdmissionPolicies
from proreus.server.admission.policies.rights import PolicyParamRights
from proreus.server.admission.policies.source import GROUP as POLICY_GROUP
from proreus.server.admission.webhooks.plugin import AdmissionWebhooks
from proreus.server.authz.modes import AccessControl
from proreus.server.authz.rbac.following import GROUP as RBAC_GROUP
from proreus.server.registry.admission import CREATE, DELETE, UPDATE, Admission
from proreus.server.registry.admission_step import AdmissionStep, Admit, PluginHalf, WriteScope
from proreus.server.registry.collections import Collections

_CREATES, _UPDATES, _DELETES = frozenset({CREATE}), frozenset({UPDATE}), frozenset({DELETE})
_WRITES = _CREATES | _UPDATES
_CHANGES = _WRITES | _DELETES


def _scope(
    operations: frozenset[str], *resources: GroupResource, subresources: tuple[str, ...] = ("",)
) -> WriteScope:
    """Of the objects themselves, or else of the subresources."""
    return WriteScope(operations, frozenset(resources) or None, frozenset(subresources))


_PODS, _NODES = GroupResource("", "pods"), GroupResource("", "nodes")
_CLAIMS, _INGRESSES = STORAGE_CLASS.resource, INGRESS_CLASS.resource
_PRIORITY_CLASSES = GroupResource("scheduling.k8s.io", "priorityclasses")
_TRUST_BUNDLES = GroupResource("certificates.k8s.io", "clustertrustbundles")

_NEW_OR_NAMESPACE_GONE = (
    WriteScope(_CREATES),
    WriteScope(_DELETES, frozenset({GroupResource("", "namespaces")})),
)
_NEW_POD, _WRITTEN_POD = (_scope(_CREATES, _PODS),), (_scope(_WRITES, _PODS),)
_RESIZED_POD = _scope(_UPDATES, _PODS, subresources=("resize",))
_NEW_OR_DEBUGGED_POD = (*_NEW_POD, _scope(_UPDATES, _PODS, subresources=("ephemeralcontainers",)))
_NEW_OR_BOUND_POD = (_scope(_CREATES, _PODS, subresources=("", "binding")),)
_SECURED = (_scope(_WRITES, *SECURED, subresources=("", "resize", "ephemeralcontainers")),)
_NEW_NODE, _NEW_CLAIM = (_scope(_CREATES, _NODES),), (_scope(_CREATES, _CLAIMS),)
_CHANGED_CLAIM, _NEW_PROTECTED = (_scope(_UPDATES, _CLAIMS),), (_scope(_CREATES, *PROTECTED),)
_BOUNDED = (*_NEW_POD, _RESIZED_POD, _scope(_WRITES, _CLAIMS))
_WRITTEN_PRIORITY_CLASS = (_scope(_WRITES, _PRIORITY_CLASSES),)
_NEW_REQUEST = (WriteScope(_CREATES, frozenset({REQUESTS})),)
_DECIDED_REQUEST = (WriteScope(_UPDATES, frozenset({REQUESTS})),)
_TRUST_BUNDLE = (WriteScope(_WRITES, frozenset({_TRUST_BUNDLES})),)
_NEW_INGRESS = (WriteScope(_CREATES, frozenset({_INGRESSES})),)
_REPORTED_CLAIM = _scope(_UPDATES, _CLAIMS, subresources=("status",))
_CHARGED = (_scope(_CREATES), _scope(_UPDATES, *GROWING), _RESIZED_POD, _REPORTED_CLAIM)


class Half(NamedTuple):
    """What a plugin does in one of the two steps, for which writes, and when it does nothing."""

    admit: Admit
    scopes: tuple[WriteScope, ...] = (WriteScope(),)
    is_idle: Callable[[], bool] | None = None


@dataclass(frozen=True, slots=True)
class Plugin:
    """``operations``: those whose times are counted under its name; None: all."""

    name: str
    operations: frozenset[str] | None = None
    mutate: Half | None = None
    validate: Half | None = None

    def half(self, half: Half) -> PluginHalf:
        return PluginHalf(self.name, half.admit, half.scopes, self.operations, half.is_idle)


@dataclass(frozen=True, slots=True)
class UsersAdmission:
    """What users configure by objects, and the rights that these need."""

    policies: AdmissionPolicies
    webhooks: AdmissionWebhooks
    params: PolicyParamRights


def standard_admission(
    collections: Collections,
    clock: Clock,
    access: AccessControl,
    users: UsersAdmission,
    options: AdmissionOptions,
    configuration: AdmissionConfiguration,
    security: PodSecurityMetrics,
) -> Admission:
    enabled = options.enabled(with_node_authorizer=access.restricts_nodes)
    of_pods = _of_pods_and_nodes(collections, clock, access, configuration, security)
    every = [*of_pods, *_of_the_rest(collections, access, users)]
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
        creation=access.creation,
        before_validation={POLICY_GROUP: (users.params.admit,)} if access.creation else {},
        validating=AdmissionStep("validate", validating, now),
    )


def _of_the_rest(
    collections: Collections, access: AccessControl, users: UsersAdmission
) -> Iterator[Plugin]:
    yield from _of_other_kinds(collections, access)
    yield from _of_what_is_configured(users.policies, users.webhooks)
    quota = ResourceQuota(collections.named("", "v1", "resourcequotas"))
    yield Plugin("ResourceQuota", _WRITES, None, Half(quota.admit, _CHARGED))


def _of_pods_and_nodes(
    collections: Collections,
    clock: Clock,
    access: AccessControl,
    configuration: AdmissionConfiguration,
    metrics: PodSecurityMetrics,
) -> Iterator[Plugin]:
    named = collections.named
    namespaces = named("", "v1", "namespaces")
    lifecycle = NamespaceLifecycle(namespaces, clock)
    yield Plugin("NamespaceLifecycle", _CHANGES, Half(lifecycle.admit, _NEW_OR_NAMESPACE_GONE))
    limits = LimitRanger(named("", "v1", "limitranges"))
    bounded = Half(limits.check_bounds, _BOUNDED)
    filled = Half(limits.set_defaults, (*_NEW_POD, _RESIZED_POD))
    yield Plugin("LimitRanger", _WRITES, filled, bounded)
    accounts = PodServiceAccounts(named("", "v1", "serviceaccounts"), clock)
    checked = Half(accounts.check_account, _NEW_OR_DEBUGGED_POD)
    yield Plugin("ServiceAccount", _WRITES, Half(accounts.set_account, _NEW_POD), checked)
    of_nodes = Half(access.node_restriction, (WriteScope(_CHANGES),))
    yield Plugin("NodeRestriction", _CHANGES, of_nodes)
    yield Plugin("TaintNodesByCondition", _CREATES, Half(taint_new_node, _NEW_NODE))
    pods, levels = named("", "v1", "pods"), configuration.pod_security
    security = PodSecurity(namespaces, pods, clock, levels, metrics)
    yield Plugin("PodSecurity", _WRITES, None, Half(security.check, _SECURED))
    priority = Priority(named("scheduling.k8s.io", "v1", "priorityclasses"))
    default_class = Half(priority.check_default, _WRITTEN_PRIORITY_CLASS)
    yield Plugin("Priority", _WRITES, Half(priority.set_priority, _WRITTEN_POD), default_class)
    tolerations = Half(add_default_tolerations, _WRITTEN_POD)
    yield Plugin("DefaultTolerationSeconds", _WRITES, tolerations)


def _of_other_kinds(collections: Collections, access: AccessControl) -> Iterator[Plugin]:
    """And of pods, what Kubernetes asks after these."""
    named = collections.named
    storage_classes = named("storage.k8s.io", "v1", "storageclasses")
    storage_class = DefaultClass(STORAGE_CLASS, storage_classes)
    yield Plugin("DefaultStorageClass", _CREATES, Half(storage_class.set_class, _NEW_CLAIM))
    yield Plugin("StorageObjectInUseProtection", _CREATES, Half(protect_storage, _NEW_PROTECTED))
    resize = PersistentVolumeClaimResize(storage_classes)
    growth = Half(resize.check_growth, _CHANGED_CLAIM)
    yield Plugin("PersistentVolumeClaimResize", _UPDATES, None, growth)
    runtime = RuntimeClass(named("node.k8s.io", "v1", "runtimeclasses"))
    overhead = Half(runtime.check_overhead, _NEW_POD)
    yield Plugin("RuntimeClass", _CREATES, Half(runtime.set_overhead, _NEW_POD), overhead)
    decisions = CertificateDecisions(access.authorization)
    approval = Half(decisions.check_approval, _DECIDED_REQUEST)
    yield Plugin("CertificateApproval", _UPDATES, None, approval)
    signing = Half(decisions.check_signing, _DECIDED_REQUEST)
    yield Plugin("CertificateSigning", _UPDATES, None, signing)
    attest = ClusterTrustBundleAttest(access.authorization)
    yield Plugin("ClusterTrustBundleAttest", _WRITES, None, Half(attest.admit, _TRUST_BUNDLE))
    subject = Half(restrict_certificate_subject, _NEW_REQUEST)
    yield Plugin("CertificateSubjectRestriction", _CREATES, None, subject)
    ingress_class = DefaultClass(INGRESS_CLASS, named("networking.k8s.io", "v1", "ingressclasses"))
    yield Plugin("DefaultIngressClass", _CREATES, Half(ingress_class.set_class, _NEW_INGRESS))
    nodes = named("", "v1", "nodes")
    labelled = Half(PodTopologyLabels(nodes).set_labels, _NEW_OR_BOUND_POD)
    yield Plugin("PodTopologyLabels", _CREATES, labelled)
    sizes, resized = PodResize(nodes), (_RESIZED_POD,)
    features = Half(sizes.check_features, resized)
    yield Plugin("NodeDeclaredFeatureValidator", _UPDATES, None, features)
    yield Plugin("PodResizeValidator", _UPDATES, None, Half(sizes.check_capacity, resized))


def _of_what_is_configured(
    policies: AdmissionPolicies, webhooks: AdmissionWebhooks
) -> Iterator[Plugin]:
    """Of all writes, and of connections."""
    every = (WriteScope(),)
    mutate = Half(policies.mutate, every, policies.has_no_mutating)
    yield Plugin("MutatingAdmissionPolicy", mutate=mutate)
    mutate = Half(webhooks.mutating.admit, every, webhooks.has_no_mutating)
    yield Plugin("MutatingAdmissionWebhook", mutate=mutate)
    validate = Half(policies.validate, every, policies.has_no_validating)
    yield Plugin("ValidatingAdmissionPolicy", validate=validate)
    validate = Half(webhooks.validating.admit, every, webhooks.has_no_validating)
    yield Plugin("ValidatingAdmissionWebhook", validate=validate)
