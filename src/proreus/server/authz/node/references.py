"""The objects that a pod or a volume cannot run without. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from proreus.api.json_types import Json

POD, SECRET, CONFIG_MAP, CLAIM = "pod", "secret", "configmap", "persistentvolumeclaim"
SERVICE_ACCOUNT, RESOURCE_CLAIM = "serviceaccount", "resourceclaim"
MIRROR = "kubernetes.io/config.mirror"
_SECRET_REFERENCES = frozenset({"secretRef", "secretKeyRef", "nodePublishSecretRef"})
_MAP_REFERENCES = frozenset({"configMapRef", "configMapKeyRef"})
# Of volumes: what only a controller uses is none of a node's business.
_VOLUME_SECRETS = frozenset(
    {"secretRef", "nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"}
)


class NodeReference(NamedTuple):
    kind: str
    namespace: str
    name: str


def pod_references(namespace: str, pod: Json) -> set[NodeReference]:
    """Nothing for a mirror pod: a node makes those itself, and could give itself anything."""
    if MIRROR in (pod["metadata"].get("annotations") or {}):
        return set()
    return all_references(namespace, pod)


def all_references(namespace: str, pod: Json) -> set[NodeReference]:
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    found = {(SERVICE_ACCOUNT, spec.get("serviceAccountName") or "")}
    found |= {(SECRET, entry.get("name") or "") for entry in spec.get("imagePullSecrets") or ()}
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(field) or ():
            found |= set(_of_environment(container))
    found |= set(_named(spec.get("volumes")))
    for volume in spec.get("volumes") or ():
        if claim := volume.get("persistentVolumeClaim"):
            found.add((CLAIM, claim.get("claimName") or ""))
        elif volume.get("ephemeral") is not None:
            found.add((CLAIM, f"{metadata.get('name')}-{volume.get('name')}"))
    found |= {(RESOURCE_CLAIM, name) for name in _resource_claims(spec, pod.get("status") or {})}
    return {NodeReference(kind, namespace, name) for kind, name in found if name}


def volume_secrets(volume: Json) -> set[NodeReference]:
    """Of a PersistentVolume that is bound to a claim; a secret without namespace is the claim's."""
    spec = volume.get("spec") or {}
    own = (spec.get("claimRef") or {}).get("namespace") or ""
    found = set()
    for source in spec.values():
        if not isinstance(source, dict):
            continue
        if name := source.get("secretName"):
            found.add(NodeReference(SECRET, source.get("secretNamespace") or own, name))
        for field in _VOLUME_SECRETS & source.keys():
            reference = source[field]
            if isinstance(reference, dict) and reference.get("name"):
                namespace = reference.get("namespace") or own
                found.add(NodeReference(SECRET, namespace, reference["name"]))
    return found


def _of_environment(container: Json) -> Iterator[tuple[str, str]]:
    """Nothing else of a container names an object."""
    sources = [entry["valueFrom"] for entry in container.get("env") or () if "valueFrom" in entry]
    for source in (*sources, *(container.get("envFrom") or ())):
        yield from _named(source)


def _named(value: Any) -> Iterator[tuple[str, str]]:
    """Secrets and config maps named anywhere in volumes or sources of variables."""
    if isinstance(value, list):
        for entry in value:
            yield from _named(entry)
        return
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        if isinstance(inner, dict) and key in _SECRET_REFERENCES:
            yield SECRET, inner.get("name") or ""
        elif isinstance(inner, dict) and key in _MAP_REFERENCES:
            yield CONFIG_MAP, inner.get("name") or ""
        elif isinstance(inner, dict) and key == "secret":
            yield SECRET, inner.get("secretName") or inner.get("name") or ""
        elif isinstance(inner, dict) and key == "configMap":
            yield CONFIG_MAP, inner.get("name") or ""
        elif isinstance(inner, dict) and key == "azureFile":
            yield SECRET, inner.get("secretName") or ""
        else:
            yield from _named(inner)


def _resource_claims(spec: Json, status: Json) -> Iterator[str]:
    made = {
        entry.get("name"): entry.get("resourceClaimName") or ""
        for entry in status.get("resourceClaimStatuses") or ()
    }
    for claim in spec.get("resourceClaims") or ():
        yield claim.get("resourceClaimName") or made.get(claim.get("name")) or ""
    yield (status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName") or ""
