"""The types the server can decode: built-in definitions, and those of custom resources."""

from __future__ import annotations

from proreus.api.group_version import GroupVersionKind
from proreus.api.typed import TypeNode
from proreus.server.registry.catalog import Catalog

# No longer served, but Kubernetes still knows what they were.
_PAST = """
admissionregistration.k8s.io/v1beta1: MutatingWebhookConfiguration ValidatingWebhookConfiguration
apiextensions.k8s.io/v1beta1: CustomResourceDefinition
apiregistration.k8s.io/v1beta1: APIService
apps/v1beta1: ControllerRevision Deployment Scale StatefulSet
apps/v1beta2: ControllerRevision DaemonSet Deployment ReplicaSet Scale StatefulSet
authentication.k8s.io/v1beta1: TokenReview
authorization.k8s.io/v1beta1: LocalSubjectAccessReview SelfSubjectAccessReview SubjectAccessReview
batch/v1beta1: CronJob
certificates.k8s.io/v1beta1: CertificateSigningRequest
coordination.k8s.io/v1beta1: Lease
discovery.k8s.io/v1beta1: EndpointSlice
events.k8s.io/v1beta1: Event
extensions/v1beta1: DaemonSet Deployment Ingress NetworkPolicy ReplicaSet Scale
flowcontrol.apiserver.k8s.io/v1beta1: FlowSchema PriorityLevelConfiguration
flowcontrol.apiserver.k8s.io/v1beta2: FlowSchema PriorityLevelConfiguration
flowcontrol.apiserver.k8s.io/v1beta3: FlowSchema PriorityLevelConfiguration
networking.k8s.io/v1beta1: Ingress IngressClass
node.k8s.io/v1alpha1: RuntimeClass
node.k8s.io/v1beta1: RuntimeClass
policy/v1beta1: PodDisruptionBudget
rbac.authorization.k8s.io/v1alpha1: ClusterRole ClusterRoleBinding Role RoleBinding
rbac.authorization.k8s.io/v1beta1: ClusterRole ClusterRoleBinding Role RoleBinding
scheduling.k8s.io/v1beta1: PriorityClass
storage.k8s.io/v1beta1: CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment
"""
_PAST_KINDS = {
    version: frozenset(kinds.split())
    for version, _, kinds in (line.partition(": ") for line in _PAST.split("\n") if line)
}
# Known to every server, though no definition is called so.
_META_KINDS = frozenset(
    {"List", "Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList"}
)
# Like DeleteOptions these are known in every built-in version, but never sent.
_OPTIONS = frozenset(
    {"CreateOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions"}
)


# Places in Kubernetes' sources that its clients see in messages; definitions have one of their own.
_SCHEME = "pkg/api/legacyscheme/scheme.go:30"
_SCHEMES = {
    "apiextensions.k8s.io": "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55",
}


def not_registered(gvk: GroupVersionKind) -> str:
    scheme = _SCHEMES.get(gvk.group, _SCHEME)
    return (
        f'no kind "{gvk.kind}" is registered for version "{gvk.api_version}" in scheme "{scheme}"'
    )


def not_convertible(gvk: GroupVersionKind, expected: GroupVersionKind) -> str:
    package = expected.group.partition(".")[0] or "core"
    return (
        f"converting ({gvk.version}.{gvk.kind}) to ({package}.{expected.kind}): unknown conversion"
    )


class KnownKinds:
    """Definitions are loaded on the first write: reading needs none."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._own: dict[GroupVersionKind, TypeNode] = {}
        self._built_in: dict[GroupVersionKind, TypeNode] = {}
        # As owner references name them. Custom resources may own anything.
        self.non_owners = frozenset(
            (resource.api_version, resource.kind)
            for resource in catalog
            if not resource.lifecycle.may_own
        )

    def add(self, gvk: GroupVersionKind, node: TypeNode) -> None:
        """A custom resource's type."""
        self._own[gvk] = node

    def remove(self, gvk: GroupVersionKind) -> None:
        self._own.pop(gvk, None)

    def node(self, gvk: GroupVersionKind) -> TypeNode | None:
        if gvk in self._own:
            return self._own[gvk]
        found = self._built_in.get(gvk)
        if found is None:
            from proreus.server.schema.definitions import Definitions

            found = Definitions.load().node(gvk)
            if found is not None:  # there are only so many of these
                self._built_in[gvk] = found
        return found

    def is_known(self, gvk: GroupVersionKind) -> bool:
        if gvk.api_version == "v1" and gvk.kind in _META_KINDS:
            return True
        if gvk.kind in _OPTIONS:
            gvk = gvk.group_version.kind("DeleteOptions")
        past = _PAST_KINDS.get(gvk.api_version, frozenset())
        kind = gvk.kind.removesuffix("List")
        if gvk.kind in past or (kind in past and not kind.endswith("Review")):
            return True
        return self._catalog.of_kind(gvk) is not None or self.node(gvk) is not None
