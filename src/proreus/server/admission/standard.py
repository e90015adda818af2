"""The admission plugins of a server by their names, each in its place in Kubernetes' order.

A plugin changes objects in its mutating half only, and the validating halves run on what will be
stored. ResourceQuota comes last: what it charges would not be given back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from proreus.aio.clock import Clock
from proreus.api.group_version import GroupResource
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
from proreus.server.admission.plugins.priority import Priority
from proreus.server.admission.plugins.resource_quota import ResourceQuota
from proreus.server.admission.plugins.runtime_class import RuntimeClass
from proreus.server.admission.plugins.service_account import PodServiceAccounts
from proreus.server.admission.plugins.signing_requests import REQUESTS, SigningRequests
from proreus.server.admission.plugins.storage_in_use import PROTECTED, protect_storage
from proreus.server.admission.plugins.taint_nodes_by_condition import taint_new_node
from proreus.server.admission.pod_certificate_signing import PodCertificateSigning
from proreus.server.admission.policies.plugin import AdmissionPolicies
from proreus.server.admission.webhooks.plugin import AdmissionWebhooks
from proreus.server.authz.modes import AccessControl
from proreus.server.registry.admission import Admission
from proreus.server.registry.admission_step import AdmissionStep, Admit, PluginHalf
from proreus.server.registry.collections import Collections


@dataclass(frozen=True, slots=True)
class Plugin:
    """Without a half it does nothing in it. ``resources``: all it is for; None: everything."""

    name: str
    mutate: Admit | None = None
    validate: Admit | None = None
    resources: frozenset[GroupResource] | None = None


def standard_admission(
    collections: Collections,
    clock: Clock,
    access: AccessControl,
    policies: AdmissionPolicies,
    webhooks: AdmissionWebhooks,
    options: AdmissionOptions,
    configuration: AdmissionConfiguration,
) -> Admission:
    enabled = options.enabled(with_node_authorizer=access.restricts_nodes)
    every = list(_plugins(collections, clock, access, policies, webhooks, configuration))
    assert tuple(plugin.name for plugin in every) == PLUGINS, "all of them, in their order"
    plugins = [plugin for plugin in every if plugin.name in enabled]
    now = clock.monotonic
    mutating = [PluginHalf(p.name, p.mutate, p.resources) for p in plugins if p.mutate]
    validating = [PluginHalf(p.name, p.validate, p.resources) for p in plugins if p.validate]
    return Admission(
        mutating=AdmissionStep("admit", mutating, now),
        registry=(
            SigningRequests(clock).admit,
            PodCertificateSigning(access.authorization).admit,
            *access.after_mutation,
        ),
        before_validation=access.before_validation,
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
    lifecycle = NamespaceLifecycle(named("", "v1", "namespaces"), clock)
    limits = LimitRanger(named("", "v1", "limitranges"))
    priority = Priority(named("scheduling.k8s.io", "v1", "priorityclasses"))
    runtime = RuntimeClass(named("node.k8s.io", "v1", "runtimeclasses"))
    accounts = PodServiceAccounts(named("", "v1", "serviceaccounts"), clock)
    storage_classes = named("storage.k8s.io", "v1", "storageclasses")
    storage_class = DefaultClass(STORAGE_CLASS, storage_classes)
    resize = PersistentVolumeClaimResize(storage_classes)
    ingress_classes = named("networking.k8s.io", "v1", "ingressclasses")
    ingress_class = DefaultClass(INGRESS_CLASS, ingress_classes)
    security = PodSecurity(
        named("", "v1", "namespaces"), named("", "v1", "pods"), clock, configuration.pod_security
    )
    topology = PodTopologyLabels(named("", "v1", "nodes"))
    decisions = CertificateDecisions(authorization)
    attest = ClusterTrustBundleAttest(authorization)
    trust_bundles = frozenset({GroupResource("certificates.k8s.io", "clustertrustbundles")})
    quota = ResourceQuota(named("", "v1", "resourcequotas"))
    pods, nodes = frozenset({GroupResource("", "pods")}), frozenset({GroupResource("", "nodes")})
    claims, ingresses = frozenset({STORAGE_CLASS.resource}), frozenset({INGRESS_CLASS.resource})
    priority_classes = frozenset({GroupResource("scheduling.k8s.io", "priorityclasses")})
    signing_requests = frozenset({REQUESTS})
    yield Plugin("NamespaceLifecycle", lifecycle.admit)
    yield Plugin("LimitRanger", limits.set_defaults, limits.check_bounds, pods | claims)
    yield Plugin("ServiceAccount", accounts.set_account, accounts.check_account, pods)
    yield Plugin("NodeRestriction", access.node_restriction)
    yield Plugin("TaintNodesByCondition", taint_new_node, resources=nodes)
    yield Plugin("PodSecurity", validate=security.check, resources=SECURED)
    yield Plugin("Priority", priority.set_priority, priority.check_default, pods | priority_classes)
    yield Plugin("DefaultTolerationSeconds", add_default_tolerations, resources=pods)
    yield Plugin("DefaultStorageClass", storage_class.set_class, resources=claims)
    yield Plugin("StorageObjectInUseProtection", protect_storage, resources=PROTECTED)
    yield Plugin("PersistentVolumeClaimResize", None, resize.check_growth, claims)
    yield Plugin("RuntimeClass", runtime.set_overhead, resources=pods)
    yield Plugin("CertificateApproval", None, decisions.check_approval, signing_requests)
    yield Plugin("CertificateSigning", None, decisions.check_signing, signing_requests)
    yield Plugin("ClusterTrustBundleAttest", None, attest.admit, trust_bundles)
    yield Plugin(
        "CertificateSubjectRestriction", None, restrict_certificate_subject, signing_requests
    )
    yield Plugin("DefaultIngressClass", ingress_class.set_class, resources=ingresses)
    yield Plugin("PodTopologyLabels", topology.set_labels, resources=pods)
    yield Plugin("MutatingAdmissionPolicy", policies.mutate)
    yield Plugin("MutatingAdmissionWebhook", webhooks.mutating.admit)
    yield Plugin("ValidatingAdmissionPolicy", validate=policies.validate)
    yield Plugin("ValidatingAdmissionWebhook", validate=webhooks.validating.admit)
    yield Plugin("ResourceQuota", validate=quota.admit)
