"""The admission plugins of a server by their names, each in its place in Kubernetes' order.

A plugin changes objects in its mutating half only, and the validating halves run on what will be
stored. ResourceQuota comes last: what it charges would not be given back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from proreus.aio.clock import Clock
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
from proreus.server.admission.plugins.pod_security import PodSecurity
from proreus.server.admission.plugins.pod_topology_labels import PodTopologyLabels
from proreus.server.admission.plugins.priority import Priority
from proreus.server.admission.plugins.resource_quota import ResourceQuota
from proreus.server.admission.plugins.runtime_class import RuntimeClass
from proreus.server.admission.plugins.service_account import PodServiceAccounts
from proreus.server.admission.plugins.signing_requests import SigningRequests
from proreus.server.admission.plugins.storage_in_use import protect_storage
from proreus.server.admission.plugins.taint_nodes_by_condition import taint_new_node
from proreus.server.admission.pod_certificate_signing import PodCertificateSigning
from proreus.server.admission.policies.plugin import AdmissionPolicies
from proreus.server.admission.webhooks.plugin import AdmissionWebhooks
from proreus.server.authz.modes import AccessControl
from proreus.server.registry.admission import Admission, Admit
from proreus.server.registry.admission_times import AdmissionTimes
from proreus.server.registry.collections import Collections


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin without a half does nothing in it."""

    name: str
    mutate: Admit | None = None
    validate: Admit | None = None


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
    mutating = AdmissionTimes.of("admit", (p.name for p in plugins if p.mutate), now)
    validating = AdmissionTimes.of("validate", (p.name for p in plugins if p.validate), now)
    return Admission(
        mutating=tuple(p.mutate for p in plugins if p.mutate is not None),
        registry=(
            SigningRequests(clock).admit,
            PodCertificateSigning(access.authorization).admit,
            *access.after_mutation,
        ),
        before_validation=access.before_validation,
        validating=tuple(p.validate for p in plugins if p.validate is not None),
        mutating_times=mutating,
        validating_times=validating,
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
    quota = ResourceQuota(named("", "v1", "resourcequotas"))
    yield Plugin("NamespaceLifecycle", lifecycle.admit)
    yield Plugin("LimitRanger", limits.set_defaults, limits.check_bounds)
    yield Plugin("ServiceAccount", accounts.set_account, accounts.check_account)
    yield Plugin("NodeRestriction", access.node_restriction)
    yield Plugin("TaintNodesByCondition", taint_new_node)
    yield Plugin("PodSecurity", validate=security.check)
    yield Plugin("Priority", priority.set_priority, priority.check_default)
    yield Plugin("DefaultTolerationSeconds", add_default_tolerations)
    yield Plugin("DefaultStorageClass", storage_class.set_class)
    yield Plugin("StorageObjectInUseProtection", protect_storage)
    yield Plugin("PersistentVolumeClaimResize", validate=resize.check_growth)
    yield Plugin("RuntimeClass", runtime.set_overhead)
    yield Plugin("CertificateApproval", validate=decisions.check_approval)
    yield Plugin("CertificateSigning", validate=decisions.check_signing)
    yield Plugin("ClusterTrustBundleAttest", validate=ClusterTrustBundleAttest(authorization).admit)
    yield Plugin("CertificateSubjectRestriction", validate=restrict_certificate_subject)
    yield Plugin("DefaultIngressClass", ingress_class.set_class)
    yield Plugin("PodTopologyLabels", topology.set_labels)
    yield Plugin("MutatingAdmissionPolicy", policies.mutate)
    yield Plugin("MutatingAdmissionWebhook", webhooks.mutating.admit)
    yield Plugin("ValidatingAdmissionPolicy", validate=policies.validate)
    yield Plugin("ValidatingAdmissionWebhook", validate=webhooks.validating.admit)
    yield Plugin("ResourceQuota", validate=quota.admit)
