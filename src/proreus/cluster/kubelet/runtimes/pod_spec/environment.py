"""A container's environment and command line. Pure.

Nothing leaks in from the kubelet's own environment but what ``inherited`` names: a search path and
a home. Later sources win: inherited, the machine's own, ``envFrom``, ``env``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from proreus.api.json_types import Json
from proreus.cluster.kubelet.runtimes.pod_spec.downward_api import (
    UnknownField,
    field_value,
    resource_value,
)
from proreus.cluster.kubelet.runtimes.pod_spec.expansion import expand
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import ContainerSpec, PodSpec
from proreus.cluster.kubelet.runtimes.pod_spec.references import (
    ConfigProblem,
    Objects,
    content_of,
    env_from_reference,
    key_reference,
)
from proreus.cluster.kubelet.runtimes.runtime import PodAddresses

INHERITED = ("PATH", "HOME")


@dataclass(frozen=True, slots=True)
class ValueSources:
    """Where values come from, beside the pod itself."""

    addresses: PodAddresses
    capacity: Mapping[str, str]
    objects: Objects


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    found = {name: environment[name] for name in INHERITED if name in environment}
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", **found}


def environment_of(
    pod: PodSpec, container: ContainerSpec, given: Mapping[str, str], sources: ValueSources
) -> dict[str, str]:
    """Raises ``ConfigProblem``. ``given`` is what every container of this kubelet has."""
    variables = dict(given)
    for source in container.content.get("envFrom") or ():
        variables.update(_all_of(pod, source, sources))
    for variable in container.content.get("env") or ():
        source = variable.get("valueFrom")
        if source:
            value = _value_from(pod, container, source, sources)
        else:
            value = expand(str(variable.get("value") or ""), variables)
        if value is not None:
            variables[variable["name"]] = value
    return {name: value for name, value in variables.items() if _can_be_passed(name, value)}


def command_line(container: ContainerSpec, variables: Mapping[str, str]) -> list[str]:
    """Empty if the container names no command: that would be its image's to say."""
    command = container.content.get("command") or ()
    if not command:
        return []
    return [expand(part, variables) for part in (*command, *(container.content.get("args") or ()))]


def _all_of(pod: PodSpec, source: Json, sources: ValueSources) -> dict[str, str]:
    found = env_from_reference(source)
    if found is None:
        return {}
    reference, said = found
    content = content_of(reference, sources.objects.get(reference))
    if content is None:
        if said.get("optional"):
            return {}
        raise ConfigProblem(f"{reference} not found")
    prefix = source.get("prefix") or ""
    return {prefix + key: _text(value) for key, value in content.items()}


def _value_from(
    pod: PodSpec, container: ContainerSpec, source: Json, sources: ValueSources
) -> str | None:
    """None: an optional value that is not there."""
    try:
        if field := source.get("fieldRef"):
            return field_value(pod, sources.addresses, str(field.get("fieldPath") or ""))
        if resource := source.get("resourceFieldRef"):
            other = resource.get("containerName") or container.name
            return resource_value(pod.container(other), resource, sources.capacity)
    except (UnknownField, StopIteration) as problem:
        raise ConfigProblem(str(problem) or "no such container") from problem
    found = key_reference(source)
    if found is None:
        raise ConfigProblem(f"unsupported source of a value: {', '.join(source)}")
    reference, said = found
    content, key = content_of(reference, sources.objects.get(reference)), said.get("key") or ""
    if content is not None and key in content:
        return _text(content[key])
    if said.get("optional"):
        return None
    if content is None:
        raise ConfigProblem(f"{reference} not found")
    kind = "ConfigMap" if reference.kind == "configmap" else "Secret"
    raise ConfigProblem(f"couldn't find key {key} in {kind} {pod.namespace}/{reference.name}")


def _text(value: bytes) -> str:
    """The operating system's variables are bytes; these survive the way there."""
    return value.decode("utf-8", "surrogateescape")


def _can_be_passed(name: str, value: str) -> bool:
    return bool(name) and "=" not in name and "\0" not in name and "\0" not in value
