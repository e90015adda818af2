"""AppArmor profiles that a new pod names by annotation: its containers get the field instead."""

from __future__ import annotations

from collections.abc import Iterator

from proreus.api.json_types import Json, JsonObject
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.pod_template.container_security import check_app_armor
from proreus.server.kinds.parts.pod_template.pod_annotations import (
    APP_ARMOR,
    APP_ARMOR_DEPRECATED,
    may_have_settings,
    profile_of,
)

_LISTS = ("initContainers", "containers", "ephemeralContainers")


def copy_profiles(pod: JsonObject) -> None:
    """A profile that is no other than the pod's is not repeated."""
    for container, annotation in _annotated(pod):
        profile = _valid_profile(annotation)
        if profile is not None and profile != _of_pod(pod):
            context = container["securityContext"] = dict(container.get("securityContext") or {})
            context["appArmorProfile"] = profile


def profile_warnings(pod: JsonObject) -> list[str]:
    """Of the pod as it was given: of annotations that say what no field does."""
    return [
        f"metadata.annotations[{APP_ARMOR}{container.get('name')}]: {APP_ARMOR_DEPRECATED}"
        for container, annotation in _annotated(pod)
        if (profile := _valid_profile(annotation)) is None or profile != _of_pod(pod)
    ]


def _annotated(pod: JsonObject) -> Iterator[tuple[JsonObject, str]]:
    """Containers without a profile of their own, and what their annotation says."""
    annotations, spec = pod["metadata"].get("annotations") or {}, pod["spec"]
    if not may_have_settings(annotations) or (spec.get("os") or {}).get("name") == "windows":
        return
    for key in _LISTS:
        for container in spec.get(key) or ():
            annotation = annotations.get(f"{APP_ARMOR}{container.get('name')}")
            own = (container.get("securityContext") or {}).get("appArmorProfile")
            if annotation is not None and own is None:
                yield container, annotation


def _valid_profile(annotation: str) -> JsonObject | None:
    found, profile = Findings(), profile_of(annotation)
    check_app_armor(found, "", profile)
    return None if found else profile


def _of_pod(pod: Json) -> Json | None:
    profile: Json | None = (pod["spec"].get("securityContext") or {}).get("appArmorProfile")
    return profile
