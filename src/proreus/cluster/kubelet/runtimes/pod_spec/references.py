"""ConfigMaps, secrets and trust bundles that a pod refers to, and what they hold. Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from proreus.api.json_types import Json
from proreus.api.object import KubeObject, plain_field
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import PodSpec

ObjectKind = Literal["configmap", "secret", "clustertrustbundle"]
CLUSTER_KINDS: frozenset[ObjectKind] = frozenset({"clustertrustbundle"})
_ENV_SOURCES: tuple[tuple[str, ObjectKind], ...] = (
    ("configMapRef", "configmap"),
    ("secretRef", "secret"),
)
_KEY_SOURCES: tuple[tuple[str, ObjectKind], ...] = (
    ("configMapKeyRef", "configmap"),
    ("secretKeyRef", "secret"),
)


class ConfigProblem(Exception):
    """What the pod refers to is not there, or cannot be read; the text is for the user."""


class Reference(msgspec.Struct, frozen=True, gc=False):
    """To one object in the pod's own namespace, or of the cluster (``CLUSTER_KINDS``). Without a
    name it is to all of them, which are then among those that exist."""

    kind: ObjectKind
    name: str

    def __str__(self) -> str:
        return f'{self.kind} "{self.name}"'


ALL_BUNDLES = Reference("clustertrustbundle", "")
Objects = Mapping[Reference, KubeObject]
"""Those that exist."""


def references_of(pod: PodSpec) -> frozenset[Reference]:
    found = {reference for container in pod.all() for reference in _of_env(container.content)}
    for volume in pod.spec.get("volumes") or ():
        found.update(_of_volume(volume))
    return frozenset(found)


def content_of(reference: Reference, found: KubeObject | None) -> dict[str, bytes] | None:
    """Keys and their values; None if there is no such object."""
    if found is None:
        return None
    encoded = plain_field(found, "data" if reference.kind == "secret" else "binaryData")
    try:
        decoded = {key: base64.b64decode(value) for key, value in encoded.items()}
    except (binascii.Error, ValueError) as problem:
        raise ConfigProblem(f"{reference} cannot be decoded: {problem}") from problem
    if reference.kind == "secret":
        return decoded
    text = plain_field(found, "data")
    return {key: str(value).encode() for key, value in text.items()} | decoded


def key_reference(source: Json) -> tuple[Reference, Json] | None:
    """Of ``valueFrom``: which object, and the rest of the reference."""
    for field, kind in _KEY_SOURCES:
        if said := source.get(field):
            return Reference(kind, said.get("name") or ""), said
    return None


def env_from_reference(source: Json) -> tuple[Reference, Json] | None:
    """Of ``envFrom``."""
    for field, kind in _ENV_SOURCES:
        if said := source.get(field):
            return Reference(kind, said.get("name") or ""), said
    return None


def volume_reference(volume: Json) -> tuple[Reference, Json] | None:
    """Of a volume, or of a part of a projected one, where a secret's field is called ``name``."""
    if said := volume.get("configMap"):
        return Reference("configmap", said.get("name") or ""), said
    if said := volume.get("secret"):
        return Reference("secret", said.get("secretName") or said.get("name") or ""), said
    return None


def _of_env(container: Json) -> Iterator[Reference]:
    for source in container.get("envFrom") or ():
        if found := env_from_reference(source):
            yield found[0]
    for variable in container.get("env") or ():
        if found := key_reference(variable.get("valueFrom") or {}):
            yield found[0]


def _of_volume(volume: Json) -> Iterator[Reference]:
    for source in (volume, *((volume.get("projected") or {}).get("sources") or ())):
        if found := volume_reference(source):
            yield found[0]
        elif source.get("clusterTrustBundle"):
            yield ALL_BUNDLES  # named ones too: a volume may have a hundred, each a watch
