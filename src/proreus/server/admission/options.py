"""Which admission plugins run: kube-apiserver's flags, as a value."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from proreus.lazy_dataclass import dataclass

# All that exist, in the order they run in.
PLUGINS = (
    "NamespaceLifecycle",
    "LimitRanger",
    "ServiceAccount",
    "NodeRestriction",
    "TaintNodesByCondition",
    "PodSecurity",
    "Priority",
    "DefaultTolerationSeconds",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "ClusterTrustBundleAttest",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "PodTopologyLabels",
    "NodeDeclaredFeatureValidator",
    "PodResizeValidator",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
    "ResourceQuota",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionOptions:
    """All plugins run unless disabled; NodeRestriction runs with the authorizer Node, or if it is
    enabled."""

    enable: tuple[str, ...] = ()
    disable: tuple[str, ...] = ()
    checks_policy_types: bool = False  # for the status of policies
    config_file: Path | None = None

    def enabled(self, *, with_node_authorizer: bool) -> Collection[str]:
        off = set(self.disable)
        if not with_node_authorizer and "NodeRestriction" not in self.enable:
            off.add("NodeRestriction")
        return [name for name in PLUGINS if name not in off]

    def fault(self) -> str:
        """One sentence if the flags cannot be obeyed, else ""."""
        for name in (*self.enable, *self.disable):
            if name not in PLUGINS:
                return (
                    f'there is no admission plugin "{name}"; there are {", ".join(sorted(PLUGINS))}'
                )
        if both := [name for name in self.enable if name in self.disable]:
            return f"the admission plugin {both[0]} cannot be both enabled and disabled"
        return ""
