"""The objects that a simulated pod's volumes and variables refer to. Pure.

A simulated node writes no files, but a missing object or key keeps a pod, or one of its containers,
from starting, with the messages of a real node.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from proreus.api.json_types import Json
from proreus.api.object import KubeObject, plain_field
from proreus.cluster.kubelet.runtimes.pod_spec.certificate_requests import certificate_requests
from proreus.cluster.kubelet.runtimes.pod_spec.environment import ValueSources, environment_of
from proreus.cluster.kubelet.runtimes.pod_spec.expansion import unresolved
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import ContainerSpec, PodSpec, read_pod
from proreus.cluster.kubelet.runtimes.pod_spec.references import (
    ConfigProblem,
    Objects,
    Reference,
    references_of,
)
from proreus.cluster.kubelet.runtimes.pod_spec.token_requests import token_requests
from proreus.cluster.kubelet.runtimes.pod_spec.volumes import (
    Contents,
    sub_path,
    volume_content,
)
from proreus.cluster.kubelet.runtimes.runtime import PodAddresses
from proreus.net.tls.key_pairs import KeyPair

NO_SOURCES = ValueSources(PodAddresses("", ""), {}, {})
_GIVEN = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
_NO_KEY_PAIR = KeyPair(b"", b"")  # they are there before this is asked
_FILES = ("configMap", "secret", "downwardAPI")
_PLAIN_SOURCES = frozenset({"value", "fieldRef", "resourceFieldRef"})


@dataclass(frozen=True, slots=True)
class Missing:
    """``mount``: why the volumes cannot be made. ``problems``: of containers by name, why their
    environment cannot."""

    mount: str = ""
    problems: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Requirements:
    pod: PodSpec
    references: frozenset[Reference]

    def missing(self, objects: Objects) -> Missing:
        """``objects``: those of the references that exist."""
        sources = replace(NO_SOURCES, objects=objects)
        contents = Contents(
            sources,
            dict.fromkeys(token_requests(self.pod), b""),
            dict.fromkeys(certificate_requests(self.pod), _NO_KEY_PAIR),
        )
        for volume in self.pod.spec.get("volumes") or ():
            try:
                self._check(volume, contents)
            except ConfigProblem as problem:
                text = f'MountVolume.SetUp failed for volume "{volume["name"]}" : {problem}'
                return Missing(mount=text)
        problems: dict[str, str] = {}
        for container in self.pod.all():
            try:
                variables = environment_of(self.pod, container, {}, sources)
                for mount in container.content.get("volumeMounts") or ():
                    sub_path(mount, variables)
            except ConfigProblem as problem:
                problems[container.name] = str(problem)
        return Missing(problems=problems)

    def _check(self, volume: Json, contents: Contents) -> None:
        """Raises ``ConfigProblem``."""
        if any(volume.get(kind) for kind in _FILES):
            volume_content(self.pod, volume, contents)
        sources = (volume.get("projected") or {}).get("sources") or ()
        volume_content(self.pod, {"projected": {"sources": sources}}, contents)


def requirements_of(pod: KubeObject) -> Requirements | None:
    """None for a pod that refers to nothing."""
    spec = plain_field(pod, "spec")
    containers = [
        container
        for field in ("initContainers", "containers", "ephemeralContainers")
        for container in spec.get(field) or ()
    ]
    if not spec.get("volumes") and not any(c.get("env") or c.get("envFrom") for c in containers):
        return None
    read = read_pod(pod)
    return Requirements(read, references_of(read))


def literal_variables(pod: KubeObject, content: Json, sources: ValueSources) -> dict[str, str]:
    """A container's variables that stand in the pod itself, and refer to no others."""
    named = content.get("env") or ()
    own = [
        variable
        for variable in named
        if "valueFrom" not in variable or set(variable["valueFrom"] or ()) <= _PLAIN_SOURCES
    ]
    if not own:
        return {}
    container = ContainerSpec(content["name"], "", "", False, False, {"env": own})
    try:
        made = environment_of(read_pod(pod), container, {}, sources)
    except (ConfigProblem, StopIteration):
        return {}
    unclear = {v["name"] for v in own if unresolved(str(v.get("value") or ""), made)}
    return {name: value for name, value in made.items() if name not in unclear}


def environments_of(
    pod: PodSpec, services: Mapping[str, str], sources: ValueSources
) -> dict[str, dict[str, str]]:
    """All variables, by containers; of those whose variables can be made."""
    given = {**services, **_GIVEN, "HOSTNAME": str(pod.spec.get("hostname") or pod.name)}
    made: dict[str, dict[str, str]] = {}
    for container in pod.all():
        with suppress(ConfigProblem):
            made[container.name] = environment_of(pod, container, given, sources)
    return made
