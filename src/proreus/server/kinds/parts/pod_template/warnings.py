"""Warnings about pods and pod templates: legal, but probably not meant."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from proreus.api.affinity import PREFERRED, REQUIRED
from proreus.api.field_error import FAULTS_MAX
from proreus.api.json_types import Json
from proreus.api.values import names
from proreus.server.kinds.parts.addresses import address_warnings
from proreus.server.kinds.parts.findings import items
from proreus.server.kinds.parts.node_labels import deprecated_label, node_term_warnings
from proreus.server.kinds.parts.pod_template.path_warnings import overlapping_paths
from proreus.server.kinds.parts.pod_template.pod_annotations import (
    APP_ARMOR,
    APP_ARMOR_DEPRECATED,
    may_have_settings,
    profile_of,
)
from proreus.server.kinds.parts.pod_template.port_warnings import port_warnings
from proreus.server.kinds.parts.pod_template.volume_warnings import volume_warnings
from proreus.server.kinds.parts.resources import fractional_bytes
from proreus.server.kinds.parts.validation_cache import POD_SPECS

# In this order Kubernetes looks through a pod's containers.
CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
_SYSCTLS = 'non-functional in v1.11+; use the "sysctls" field instead'
_OLD_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": _SYSCTLS,
    "security.alpha.kubernetes.io/unsafe-sysctls": _SYSCTLS,
}
_POD_SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
_CONTAINER_SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"
_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'


def name_warnings(obj: Json, used_in: str = "Pod names and hostnames") -> list[str]:
    """Of what gives pods their names: not every name can be a hostname."""
    problems = names.dns_label(obj["metadata"].get("name") or "")
    if not problems:
        return []
    return [
        f"metadata.name: this is used in {used_in}, which can result in surprising behavior; a DNS "
        f"label is recommended: [{' '.join(problems)}]"
    ]


def pod_warnings(holder: Json, at: str = "") -> list[str]:
    """Of a pod, or of the template at the path ``at``."""
    start = f"{at}." if at else ""
    metadata, spec = holder.get("metadata") or {}, holder.get("spec") or {}
    found = pod_spec_warnings(spec, f"{start}spec")
    if may_have_settings(annotations := metadata.get("annotations") or {}):
        found += _annotations(annotations, spec, f"{start}metadata.annotations")
    return found


def _annotations(annotations: Json, spec: Json, at: str) -> Iterator[str]:
    for key, why in _OLD_ANNOTATIONS.items():
        if key in annotations:
            yield f"{at}[{key}]: {why}"
    if _POD_SECCOMP in annotations and not _has_seccomp(spec):
        yield f"{at}[{_POD_SECCOMP}]: {_SECCOMP}"
    is_template = at != "metadata.annotations"  # of pods see core.pod.app_armor
    for kind in CONTAINER_LISTS:
        for container in spec.get(kind) or ():
            key = f"{APP_ARMOR}{container.get('name')}"
            if is_template and key in annotations and _lacks(annotations[key], container, spec):
                yield f"{at}[{key}]: {APP_ARMOR_DEPRECATED}"
            key = f"{_CONTAINER_SECCOMP}{container.get('name')}"
            if key in annotations and not _has_seccomp(container):
                yield f"{at}[{key}]: {_SECCOMP}"


def _lacks(profile: str, container: Json, spec: Json) -> bool:
    """Whether neither the container nor its pod says in a field what the annotation says."""
    if (container.get("securityContext") or {}).get("appArmorProfile") is not None:
        return False
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
    return of_pod is None or profile_of(profile) != of_pod


def _has_seccomp(holder: Json) -> bool:
    return (holder.get("securityContext") or {}).get("seccompProfile") is not None


def pod_spec_warnings(spec: Json, at: str) -> list[str]:
    """Of a spec that has been validated; most are of a template that gave none before."""
    text = POD_SPECS.text(spec)
    if POD_SPECS.has_no_warnings(text):
        return []
    all_of_them = chain(
        _nodes(spec, at),
        _spread(spec, at),
        (text for where, volume in items(spec.get("volumes"), f"{at}.volumes")
         for text in volume_warnings(volume, where)),
        overlapping_paths(spec.get("volumes") or ()),
        _repeated(spec, at),
        _fractions(spec.get("overhead"), f"{at}.overhead"),
        _containers(spec, at),
        port_warnings(spec, at, CONTAINER_LISTS),
        _grace_period(spec, at),
        _neighbours(spec, at),
        _addresses(spec, at),
    )  # fmt: skip
    found = list(islice(all_of_them, FAULTS_MAX))
    if not found:
        POD_SPECS.add_without_warnings(text)
    return found


def _nodes(spec: Json, at: str) -> Iterator[str]:
    for key in sorted(spec.get("nodeSelector") or ()):
        if why := deprecated_label(key):
            yield f"{at}.nodeSelector[{key}]: {why}"
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    where = f"{at}.affinity.nodeAffinity"
    terms = (affinity.get(REQUIRED) or {}).get("nodeSelectorTerms")
    for place, term in items(terms, f"{where}.{REQUIRED}.nodeSelectorTerms"):
        yield from node_term_warnings(term, place)
    for place, term in items(affinity.get(PREFERRED), f"{where}.{PREFERRED}"):
        preference = term.get("preference") or {}
        yield from node_term_warnings(preference, f"{place}.preference", is_preference=True)


def _spread(spec: Json, at: str) -> Iterator[str]:
    constraints = spec.get("topologySpreadConstraints")
    for where, constraint in items(constraints, f"{at}.topologySpreadConstraints"):
        key = constraint.get("topologyKey") or ""
        if why := deprecated_label(key):
            yield f"{where}.topologyKey: {key} is {why}"
        yield from _selector(constraint, where)


def _grace_period(spec: Json, at: str) -> Iterator[str]:
    """Of templates alone: a pod's own is not negative once it has its defaults."""
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        why = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{at}.terminationGracePeriodSeconds: {why}"


def _neighbours(spec: Json, at: str) -> Iterator[str]:
    if not spec.get("affinity"):
        return  # nearly always
    for key in ("podAffinity", "podAntiAffinity"):
        affinity, where = spec["affinity"].get(key) or {}, f"{at}.affinity.{key}"
        for place, term in items(affinity.get(REQUIRED), f"{where}.{REQUIRED}"):
            yield from _selector(term, place)
        for place, weighted in items(affinity.get(PREFERRED), f"{where}.{PREFERRED}"):
            yield from _selector(weighted.get("podAffinityTerm") or {}, f"{place}.podAffinityTerm")


def _addresses(spec: Json, at: str) -> Iterator[str]:
    servers = (spec.get("dnsConfig") or {}).get("nameservers")
    for where, address in items(servers, f"{at}.dnsConfig.nameservers"):
        yield from address_warnings(where, address)
    for where, alias in items(spec.get("hostAliases"), f"{at}.hostAliases"):
        yield from address_warnings(f"{where}.ip", alias.get("ip") or "")


def _selector(term: Json, at: str) -> Iterator[str]:
    """A selector that is not there selects nothing, which is seldom what was meant."""
    if term.get("labelSelector") is None:
        yield f"{at}.labelSelector: a null labelSelector results in matching no pod"


def _repeated(spec: Json, at: str) -> Iterator[str]:
    """Lists that clients merge by a key: of two equal entries one is lost."""
    for field, key in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        seen: set[str] = set()
        for where, entry in items(spec.get(field), f"{at}.{field}"):
            value = entry.get(key) or ""
            if value in seen:
                yield f'{where}.{key}: duplicate {key} "{value}"'
            seen.add(value)
    for where, entry in items(spec.get("imagePullSecrets"), f"{at}.imagePullSecrets"):
        if not entry.get("name"):
            yield f'{where}.name: invalid empty name ""'


def _containers(spec: Json, at: str) -> Iterator[str]:
    for key in CONTAINER_LISTS:
        for where, container in items(spec.get(key), f"{at}.{key}"):
            resources = container.get("resources") or {}
            for name in ("memory", "ephemeral-storage"):
                for part in ("limits", "requests"):
                    yield from _fractions(resources.get(part), f"{where}.resources.{part}", name)
            yield from _repeated_variables(container, where)


def _fractions(amounts: Json | None, at: str, only: str = "") -> Iterator[str]:
    if not amounts:
        return  # nearly always
    for name, value in fractional_bytes(amounts):
        if name == only or not only:
            yield f'{at}[{name}]: fractional byte value "{value}" is invalid, must be an integer'


def _repeated_variables(container: Json, at: str) -> Iterator[str]:
    env = container.get("env") or ()
    if len({variable.get("name") for variable in env}) == len(env):
        return  # nearly always
    seen: set[str] = set()
    for where, variable in items(env, f"{at}.env"):
        name, value = variable.get("name") or "", variable.get("value") or ""
        # A later value that refers to the earlier one is meant to extend it.
        extends = f"$({name})" in value and value != f"$({name})"
        if name in seen and (not extends or variable.get("valueFrom") is not None):
            yield (
                f'{where}: hides previous definition of "{name}", which may be dropped when '
                "using apply"
            )
        seen.add(name)
