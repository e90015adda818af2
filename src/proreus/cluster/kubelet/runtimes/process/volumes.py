"""What a pod's volumes consist of. Pure; ``folders`` makes it so.

There are no mounts here, only files: a volume is a folder of the pod, or a place on the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from proreus.cluster.kubelet.runtimes.process.described import Json, PodSpec
from proreus.cluster.kubelet.runtimes.process.downward import (
    UnknownField,
    field_value,
    resource_value,
)
from proreus.cluster.kubelet.runtimes.process.environment import Surroundings
from proreus.cluster.kubelet.runtimes.process.references import (
    ConfigProblem,
    content_of,
    source_of_files,
)

_MODE = 0o644


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
    """The pod's own, from its first to its last moment."""


@dataclass(frozen=True, slots=True)
class HostPath:
    path: str
    type: str


VolumeContent = Files | Empty | HostPath


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A token that a volume wants; equal requests share one."""

    audience: str
    expires_s: int


@dataclass(frozen=True, slots=True)
class Contents:
    """What volumes are made from."""

    around: Surroundings
    tokens: Mapping[TokenRequest, bytes] = field(default_factory=dict)


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
    kinds = ", ".join(sorted(set(volume) - {"name"})) or "none"
    raise ConfigProblem(f"the process runtime has no volumes of this kind: {kinds}")


def token_requests(pod: PodSpec) -> set[TokenRequest]:
    return {
        _token_request(token)
        for volume in pod.spec.get("volumes") or ()
        for source in (volume.get("projected") or {}).get("sources") or ()
        if (token := source.get("serviceAccountToken"))
    }


def _files(pod: PodSpec, source: Json, contents: Contents, mode: int) -> dict[str, VolumeFile]:
    """Of a volume or a part of a projected one."""
    if downward := source.get("downwardAPI"):
        return {
            _relative(item["path"]): VolumeFile(
                _downward(pod, item, contents.around).encode(), item.get("mode") or mode
            )
            for item in downward.get("items") or ()
        }
    if token := source.get("serviceAccountToken"):
        found = contents.tokens.get(_token_request(token))
        if found is None:
            raise ConfigProblem("the server gives no tokens for service accounts")
        return {_relative(token["path"]): VolumeFile(found, min(mode, 0o600))}
    named = source_of_files(source)
    if named is None:
        raise ConfigProblem(f"the process runtime cannot project {', '.join(sorted(source))}")
    reference, said = named
    content = content_of(reference, contents.around.objects.get(reference))
    if content is None:
        if said.get("optional"):
            return {}
        raise ConfigProblem(f"{reference} not found")
    return _selected(content, said, mode)


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


def _downward(pod: PodSpec, item: Json, around: Surroundings) -> str:
    try:
        if field_ref := item.get("fieldRef"):
            return field_value(pod, around.addresses, str(field_ref.get("fieldPath") or ""))
        resource = item.get("resourceFieldRef") or {}
        container = pod.container(str(resource.get("containerName") or ""))
        return resource_value(container, resource, around.capacity)
    except (UnknownField, StopIteration) as problem:
        raise ConfigProblem(str(problem) or "no such container") from problem


def _token_request(token: Json) -> TokenRequest:
    return TokenRequest(token.get("audience") or "", int(token.get("expirationSeconds") or 3600))


def _relative(path: str) -> str:
    """A path that stays inside the volume. The server has checked; this is the last door."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or path.startswith(".."):
        raise ConfigProblem(f"a file's path must stay inside its volume: {path}")
    return str(pure)
