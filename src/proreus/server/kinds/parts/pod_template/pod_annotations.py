"""Annotations that were settings of pods before fields were; Kubernetes still reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from proreus.api.json_types import Json, JsonObject
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.pod_template.mounts import check_relative_path

MIRROR = "kubernetes.io/config.mirror"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_POD_SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
_CONTAINER_SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
APP_ARMOR_DEPRECATED = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_LOCALHOST = "localhost/"
_DEFAULTS = ("runtime/default", "docker/default")
_INT32_MAX = 2**31 - 1
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)", re.ASCII)
_LISTS = ("initContainers", "containers", "ephemeralContainers")
_DOMAIN = "kubernetes.io/"  # in the key of every setting


def may_have_settings(annotations: Json | None) -> bool:
    """Whether some of them may be settings; nearly always none is."""
    return annotations is not None and _DOMAIN in " ".join(annotations)


def check_pod_annotations(found: Findings, at: str, annotations: Json, spec: Json) -> None:
    """Of a pod or a template; ``at`` is the path of its annotations."""
    if not may_have_settings(annotations):
        return
    if MIRROR in annotations and not spec.get("nodeName"):
        why = "must set spec.nodeName if mirror pod annotation is set"
        found.invalid(f"{at}[{MIRROR}]", annotations[MIRROR], why)
    if (cost := annotations.get(_DELETION_COST)) is not None:
        fits = len(cost) <= 11 and _INTEGER.fullmatch(cost)
        if not fits or not -_INT32_MAX - 1 <= int(cost) <= _INT32_MAX:
            found.invalid(f"{at}[{_DELETION_COST}]", cost, "must be a 32bit integer")
    for key in sorted(annotations):
        if key == _POD_SECCOMP or key.startswith(_CONTAINER_SECCOMP):
            _check_seccomp(found, f"{at}.{key}", annotations[key])
    for key in sorted(annotations):
        if key.startswith(APP_ARMOR):
            _check_app_armor(found, f"{at}[{key}]", key, annotations[key], spec)


def _check_seccomp(found: Findings, at: str, profile: str) -> None:
    if profile in (*_DEFAULTS, "unconfined"):
        return
    if profile.startswith(_LOCALHOST):
        check_relative_path(found, at, profile.removeprefix(_LOCALHOST))
    else:
        found.invalid(at, profile, "must be a valid seccomp profile")


def _check_app_armor(found: Findings, at: str, key: str, profile: str, spec: Json) -> None:
    name = key.removeprefix(APP_ARMOR)
    if all(container.get("name") != name for _, container in _containers(spec, "")):
        found.invalid(at, name, "container not found")
    known = profile in ("", "runtime/default", "unconfined")
    if not known and not profile.startswith(_LOCALHOST):
        found.invalid(at, profile, f'invalid AppArmor profile name: "{profile}"')


def check_kept_annotations(found: Findings, new: Json, old: Json) -> None:
    """A static pod's image here stays one, and no other pod becomes one; profiles stay too."""
    now, then = new["metadata"].get("annotations") or {}, old["metadata"].get("annotations") or {}
    if now == then:
        return  # nearly always
    for how, keys in (
        ("remove or update", sorted(key for key in then if now.get(key) != then[key])),
        ("add", sorted(key for key in now if key not in then)),
    ):
        for key in keys:
            if key.startswith(APP_ARMOR):
                why = f"may not {how} AppArmor annotations"
                found.forbid(f"metadata.annotations[{key}]", why)
            if key == MIRROR:
                why = f"may not {how} mirror pod annotation"
                found.forbid(f"metadata.annotations[{key}]", why)


def profile_of(annotation: str) -> JsonObject | None:
    """The AppArmor field that says what the annotation says."""
    if annotation == "unconfined":
        return {"type": "Unconfined"}
    if annotation == "runtime/default":
        return {"type": "RuntimeDefault"}
    if annotation.startswith(_LOCALHOST) and annotation != _LOCALHOST:
        name = annotation.removeprefix(_LOCALHOST)
        return {"type": "Localhost", "localhostProfile": name}
    return None


def check_fields_match(found: Findings, at: str, annotations: Json, spec: Json) -> None:
    """A setting that is both an annotation and a field is the same one; ``at``: the spec's path."""
    if not may_have_settings(annotations):
        return
    if _POD_SECCOMP in annotations:
        context = spec.get("securityContext") or {}
        _match_seccomp(found, f"{at}.securityContext", context, annotations[_POD_SECCOMP])
    for where, container in _containers(spec, at):
        key = f"{_CONTAINER_SECCOMP}{container.get('name')}"
        context = container.get("securityContext") or {}
        if key in annotations:
            _match_seccomp(found, f"{where}.securityContext", context, annotations[key])
    if (spec.get("os") or {}).get("name") == "windows":
        return
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
    for where, container in _containers(spec, at):
        key = f"{APP_ARMOR}{container.get('name')}"
        profile = (container.get("securityContext") or {}).get("appArmorProfile") or of_pod
        if key in annotations and profile is not None:
            place = f"{where}.securityContext.appArmorProfile"
            _match(found, place, "apparmor", profile, annotations[key], _DEFAULTS[:1])


def _match_seccomp(found: Findings, at: str, context: Json, annotation: str) -> None:
    if (profile := context.get("seccompProfile")) is not None:
        _match(found, f"{at}.seccompProfile", "seccomp", profile, annotation, _DEFAULTS)


def _match(
    found: Findings, at: str, what: str, profile: Json, annotation: str, defaults: tuple[str, ...]
) -> None:
    match profile.get("type"):
        case "Unconfined":
            is_same = annotation == "unconfined"
        case "RuntimeDefault":
            is_same = annotation in defaults
        case "Localhost":
            is_same = annotation.startswith(_LOCALHOST)
            if is_same and annotation.removeprefix(_LOCALHOST) != profile.get("localhostProfile"):
                why = f"{what} profile in annotation and field must match"
                found.forbid(f"{at}.localhostProfile", why)
        case _:
            return
    if not is_same:
        found.forbid(f"{at}.type", f"{what} type in annotation and field must match")


def _containers(spec: Json, at: str) -> Iterator[tuple[str, Json]]:
    for key in _LISTS:
        yield from items(spec.get(key), f"{at}.{key}")
