"""The content of a pod's volumes. Pure; ``folders`` writes it.

There are no mounts here, only files: a volume is a folder of the pod, or a place on the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath

from proreus.api.json_types import Json
from proreus.api.object import KubeObject
from proreus.cluster.kubelet.runtimes.pod_spec.certificate_requests import (
    CertificateRequest,
    certificate_request,
    credential_files,
)
from proreus.cluster.kubelet.runtimes.pod_spec.downward_api import (
    UnknownField,
    field_value,
    resource_value,
)
from proreus.cluster.kubelet.runtimes.pod_spec.environment import ValueSources
from proreus.cluster.kubelet.runtimes.pod_spec.expansion import expand, unresolved
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import PodSpec
from proreus.cluster.kubelet.runtimes.pod_spec.references import (
    ConfigProblem,
    content_of,
    volume_reference,
)
from proreus.cluster.kubelet.runtimes.pod_spec.token_requests import TokenRequest, token_request
from proreus.cluster.kubelet.runtimes.pod_spec.trust_bundles import trust_anchors
from proreus.cluster.volumes.pod_claims import pod_claims
from proreus.net.tls.key_pairs import KeyPair

_MODE = 0o644
# What the spec of a persistent volume has beside the one field that says of which kind it is.
_NOT_SOURCES = frozenset(
    {
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    }
)


@dataclass(frozen=True, slots=True)
class VolumeFile:
    content: bytes
    mode: int


@dataclass(frozen=True, slots=True)
class Files:
    """Kept equal to what it is made of, file by file, all at once."""

    files: Mapping[str, VolumeFile]


@dataclass(frozen=True, slots=True)
class Empty:
    """An emptyDir: lives as long as the pod."""


@dataclass(frozen=True, slots=True)
class HostPath:
    path: str
    type: str


VolumeContent = Files | Empty | HostPath


@dataclass(frozen=True, slots=True)
class Contents:
    """What volumes are made from. ``claimed``: persistent volumes, by the pod's claims."""

    sources: ValueSources
    tokens: Mapping[TokenRequest, bytes] = field(default_factory=dict)
    certificates: Mapping[CertificateRequest, KeyPair] = field(default_factory=dict)
    claimed: Mapping[str, KubeObject] = field(default_factory=dict)


def volume_content(pod: PodSpec, volume: Json, contents: Contents) -> VolumeContent:
    """Raises ``ConfigProblem``."""
    if "emptyDir" in volume:
        return Empty()
    if host := volume.get("hostPath"):
        return HostPath(host.get("path") or "", host.get("type") or "")
    if volume.get("configMap") or volume.get("secret") or volume.get("downwardAPI"):
        said = volume.get("configMap") or volume.get("secret") or volume.get("downwardAPI") or {}
        return Files(_files(pod, volume, contents, said.get("defaultMode") or _MODE))
    if projected := volume.get("projected"):
        files: dict[str, VolumeFile] = {}
        mode = projected.get("defaultMode") or _MODE
        for source in projected.get("sources") or ():
            files.update(_files(pod, source, contents, mode))
        return Files(files)
    for claim in pod_claims(pod.name, [volume]):
        return _persistent(contents.claimed.get(claim.name))
    raise _unknown(set(volume) - {"name"})


def _persistent(volume: KubeObject | None) -> VolumeContent:
    """Raises ``ConfigProblem``."""
    if volume is None:  # no container mounts it
        return Empty()
    spec: Json = volume.to_dict()["spec"]
    if host := spec.get("hostPath"):
        return HostPath(host.get("path") or "", host.get("type") or "")
    if local := spec.get("local"):
        return HostPath(local.get("path") or "", "Directory")
    raise _unknown(set(spec) - _NOT_SOURCES)


def _unknown(kinds: set[str]) -> ConfigProblem:
    said = ", ".join(sorted(kinds)) or "none"
    return ConfigProblem(f"the process runtime has no volumes of this kind: {said}")


def sub_path(mount: Json, variables: Mapping[str, str]) -> str:
    """Which part of its volume a mount shows; empty: all of it. Raises ``ConfigProblem``."""
    if not mount.get("subPath") and not mount.get("subPathExpr"):
        return ""
    said = str(mount.get("subPathExpr") or "")
    below = str(mount.get("subPath") or "") or expand(said, variables)
    if missing := unresolved(said, variables):
        raise ConfigProblem(f"missing value for {', '.join(missing)} in subPathExpr {said}")
    if below.startswith("/"):
        raise ConfigProblem(f"error SubPath `{below}` must not be an absolute path")
    if ".." in below.split("/"):
        raise ConfigProblem(f"unable to provision SubPath `{below}`: must not contain '..'")
    return below


def _files(pod: PodSpec, source: Json, contents: Contents, mode: int) -> dict[str, VolumeFile]:
    """Of a volume or a part of a projected one."""
    if downward := source.get("downwardAPI"):
        return {
            _relative(item["path"]): VolumeFile(
                _downward(pod, item, contents.sources).encode(), item.get("mode") or mode
            )
            for item in downward.get("items") or ()
        }
    if token := source.get("serviceAccountToken"):
        found = contents.tokens.get(token_request(token))
        if found is None:
            raise ConfigProblem("the server gives no tokens for service accounts")
        return {_relative(token["path"]): VolumeFile(found, min(mode, 0o600))}
    if certificate := source.get("podCertificate"):
        return _credentials(certificate_request(certificate), contents, mode)
    if bundle := source.get("clusterTrustBundle"):
        anchors = trust_anchors(bundle, contents.sources.objects)
        return {_relative(bundle["path"]): VolumeFile(anchors, mode)}
    named = volume_reference(source)
    if named is None:
        raise ConfigProblem(f"the process runtime cannot project {', '.join(sorted(source))}")
    reference, said = named
    content = content_of(reference, contents.sources.objects.get(reference))
    if content is None:
        if said.get("optional"):
            return {}
        raise ConfigProblem(f"{reference} not found")
    return _selected(content, said, mode)


def _credentials(
    wanted: CertificateRequest, contents: Contents, mode: int
) -> dict[str, VolumeFile]:
    files = credential_files(wanted, contents.certificates[wanted])
    return {
        _relative(path): VolumeFile(content, min(mode, 0o600)) for path, content in files.items()
    }


def _selected(content: Mapping[str, bytes], said: Json, mode: int) -> dict[str, VolumeFile]:
    items = said.get("items")
    if not items:
        return {key: VolumeFile(value, mode) for key, value in content.items()}
    files: dict[str, VolumeFile] = {}
    for item in items:
        value = content.get(item["key"])
        if value is not None:
            files[_relative(item["path"])] = VolumeFile(value, item.get("mode") or mode)
        elif not said.get("optional"):
            raise ConfigProblem(f"references non-existent key: {item['key']}")
    return files


def _downward(pod: PodSpec, item: Json, sources: ValueSources) -> str:
    try:
        if field_ref := item.get("fieldRef"):
            return field_value(pod, sources.addresses, str(field_ref.get("fieldPath") or ""))
        resource = item.get("resourceFieldRef") or {}
        container = pod.container(str(resource.get("containerName") or ""))
        return resource_value(container, resource, sources.capacity)
    except (UnknownField, StopIteration) as problem:
        raise ConfigProblem(str(problem) or "no such container") from problem


@lru_cache(maxsize=1024)
def _relative(path: str) -> str:
    """A path that stays inside the volume. The server has checked it already."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or path.startswith(".."):
        raise ConfigProblem(f"a file's path must stay inside its volume: {path}")
    return str(pure)
