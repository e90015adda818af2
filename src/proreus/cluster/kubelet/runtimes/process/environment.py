"""A container's environment and command line. Pure.

Nothing leaks in from the kubelet's own environment but what ``inherited`` names: a search path and
a home. Later sources win: inherited, the machine's own, ``envFrom``, ``env``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from proreus.cluster.kubelet.runtimes.process.described import ContainerSpec, Json, PodSpec
from proreus.cluster.kubelet.runtimes.process.downward import (
    UnknownField,
    field_value,
    resource_value,
)
from proreus.cluster.kubelet.runtimes.process.expansion import expand
from proreus.cluster.kubelet.runtimes.process.references import (
    ConfigProblem,
    Objects,
    content_of,
    source_of_all,
    source_of_key,
)
from proreus.cluster.kubelet.runtimes.runtime import PodAddresses

INHERITED = ("PATH", "HOME")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the values may speak of, beside the pod itself."""

    addresses: PodAddresses
    capacity: Mapping[str, str]
    objects: Objects


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    found = {name: environment[name] for name in INHERITED if name in environment}
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", **found}


def environment_of(
    pod: PodSpec, container: ContainerSpec, given: Mapping[str, str], around: Surroundings
) -> dict[str, str]:
    """Raises ``ConfigProblem``. ``given`` is what every container of this kubelet has."""
    variables = dict(given)
    for source in container.content.get("envFrom") or ():
        variables.update(_all_of(pod, source, around))
    for variable in container.content.get("env") or ():
        source = variable.get("valueFrom")
        if source:
            value = _value_from(pod, container, source, around)
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


def _all_of(pod: PodSpec, source: Json, around: Surroundings) -> dict[str, str]:
    found = source_of_all(source)
    if found is None:
        return {}
    reference, said = found
    content = content_of(reference, around.objects.get(reference))
    if content is None:
        if said.get("optional"):
            return {}
        raise ConfigProblem(f"{reference} not found")
    prefix = source.get("prefix") or ""
    return {prefix + key: _text(value) for key, value in content.items()}


def _value_from(
    pod: PodSpec, container: ContainerSpec, source: Json, around: Surroundings
) -> str | None:
    """None: an optional value that is not there."""
    try:
        if field := source.get("fieldRef"):
            return field_value(pod, around.addresses, str(field.get("fieldPath") or ""))
        if resource := source.get("resourceFieldRef"):
            other = resource.get("containerName") or container.name
            return resource_value(pod.container(other), resource, around.capacity)
    except UnknownField as problem:
        raise ConfigProblem(str(problem)) from problem
    found = source_of_key(source)
    if found is None:
        raise ConfigProblem(f"unsupported source of a value: {', '.join(source)}")
    reference, said = found
    content, key = content_of(reference, around.objects.get(reference)), said.get("key") or ""
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
