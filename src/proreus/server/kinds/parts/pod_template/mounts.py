"""Volume mounts and block devices of containers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from proreus.api.json_types import Json
from proreus.server.kinds.parts.findings import Findings, items

_PROPAGATION = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")
_BLOCK_SOURCES = ("persistentVolumeClaim", "ephemeral")


def check_mounts(found: Findings, at: str, container: Json, volumes: Mapping[str, Json]) -> None:
    devices = _Others.of(container, "volumeDevices", "devicePath")
    seen: set[str] = set()
    for where, mount in items(container.get("volumeMounts"), at):
        name, path = mount.get("name") or "", mount.get("mountPath") or ""
        found.require(f"{where}.name", name)
        if name not in volumes:
            found.not_found(f"{where}.name", name)
        found.require(f"{where}.mountPath", path)
        if path in seen:
            found.invalid(f"{where}.mountPath", path, "must be unique")
        seen.add(path)
        _check_apart(found, where, mount, "mountPath", devices)
        _check_sub_paths(found, at, where, mount)
        _check_propagation(found, at, mount, container)
        _check_recursive(found, at, mount)


class _Others(NamedTuple):
    """What the other list of a container names: a volume is mounted or a device, not both."""

    field: str
    names: frozenset[object]
    paths: frozenset[object]

    @classmethod
    def of(cls, container: Json, field: str, path: str) -> _Others:
        listed = container.get(field) or ()
        names = frozenset(one.get("name") for one in listed)
        return cls(field, names, frozenset(one.get(path) for one in listed))


def _check_apart(found: Findings, at: str, one: Json, path_field: str, others: _Others) -> None:
    name, path = one.get("name") or "", one.get(path_field) or ""
    if name in others.names:
        found.invalid(f"{at}.name", name, f"must not already exist in {others.field}")
    if path in others.paths:
        why = f"must not already exist as a path in {others.field}"
        found.invalid(f"{at}.{path_field}", path, why)


def _check_sub_paths(found: Findings, at: str, where: str, mount: Json) -> None:
    # These messages name the list, not its element; so does Kubernetes.
    if path := mount.get("subPath"):
        check_relative_path(found, f"{at}.subPath", path)
    if expression := mount.get("subPathExpr"):
        if mount.get("subPath"):
            found.invalid(
                f"{where}.subPathExpr", expression, "subPathExpr and subPath are mutually exclusive"
            )
        check_relative_path(found, f"{at}.subPathExpr", expression)


def check_relative_path(found: Findings, at: str, path: str) -> None:
    if path.startswith("/"):
        found.invalid(at, path, "must be a relative path")
    check_no_backsteps(found, at, path)


def check_no_backsteps(found: Findings, at: str, path: str) -> None:
    if ".." in path.split("/"):
        found.invalid(at, path, "must not contain '..'")


def _check_propagation(found: Findings, at: str, mount: Json, container: Json) -> None:
    propagation = mount.get("mountPropagation")
    if propagation is None:
        return
    found.one_of(f"{at}.mountPropagation", propagation, _PROPAGATION)
    privileged = (container.get("securityContext") or {}).get("privileged")
    if propagation == "Bidirectional" and not privileged:
        found.forbid(
            f"{at}.mountPropagation",
            "Bidirectional mount propagation is available only to privileged containers",
        )


def _check_recursive(found: Findings, at: str, mount: Json) -> None:
    recursive, at = mount.get("recursiveReadOnly"), f"{at}.recursiveReadOnly"
    if recursive is None:
        return
    found.one_of(at, recursive, _RECURSIVE)
    if recursive in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            found.forbid(at, "may only be specified when readOnly is true")
        if mount.get("mountPropagation") not in (None, "None"):
            found.forbid(at, "may only be specified when mountPropagation is None or not specified")


def check_devices(found: Findings, at: str, container: Json, volumes: Mapping[str, Json]) -> None:
    mounts = _Others.of(container, "volumeMounts", "mountPath")
    seen_names: set[str] = set()
    seen_paths: set[str] = set()
    for where, device in items(container.get("volumeDevices"), at):
        name, path = device.get("name") or "", device.get("devicePath") or ""
        found.require(f"{where}.name", name)
        if name in seen_names:
            found.invalid(f"{where}.name", name, "must be unique")
        volume = volumes.get(name)
        if volume is not None and not any(key in volume for key in _BLOCK_SOURCES):
            found.invalid(
                f"{where}.name",
                name,
                "can only use volume source type of PersistentVolumeClaim or Ephemeral "
                "for block mode",
            )
        if volume is None:
            found.not_found(f"{where}.name", name)
        found.require(f"{where}.devicePath", path)
        if path in seen_paths:
            found.invalid(f"{where}.devicePath", path, "must be unique")
        if ".." in path.split("/"):
            found.invalid(f"{where}.devicePath", path, "can not contain backsteps ('..')")
        else:
            seen_paths.add(path)
        seen_names |= {name} - {""}
        _check_apart(found, where, device, "devicePath", mounts)
