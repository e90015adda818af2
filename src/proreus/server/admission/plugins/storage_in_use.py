"""StorageObjectInUseProtection: storage that is in use is not removed, a finalizer holds it.

A controller takes it away when nothing uses the object any more.
"""

from __future__ import annotations

from proreus.api.group_version import GroupResource
from proreus.server.registry.admission import CREATE, Attributes

_FINALIZERS = {
    ("", "persistentvolumeclaims"): "kubernetes.io/pvc-protection",
    ("", "persistentvolumes"): "kubernetes.io/pv-protection",
    ("storage.k8s.io", "volumeattributesclasses"): "kubernetes.io/vac-protection",
}
PROTECTED = frozenset(GroupResource(*resource) for resource in _FINALIZERS)


def protect_storage(attributes: Attributes) -> None:
    if attributes.operation != CREATE or attributes.subresource or attributes.obj is None:
        return
    finalizer = _FINALIZERS.get((attributes.resource.group, attributes.resource.plural))
    if finalizer is None:
        return
    finalizers = attributes.obj["metadata"].setdefault("finalizers", [])
    if finalizer not in finalizers:
        finalizers.append(finalizer)
