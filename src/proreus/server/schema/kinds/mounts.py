"""Volume mounts and block devices of containers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.server.schema.kinds.findings import Findings, items

Json = Mapping[str, Any]
_PROPAGATION = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")
_BLOCK_SOURCES = ("persistentVolumeClaim", "ephemeral")


def check_mounts(found: Findings, at: str, container: Json, volumes: Mapping[str, Json]) -> None:
    devices = {device.get("name") for device in container.get("volumeDevices") or ()}
    device_paths = {device.get("devicePath") for device in container.get("volumeDevices") or ()}
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
        if name in devices:
            found.invalid(f"{where}.name", name, "must not already exist in volumeDevices")
        if path in device_paths:
            found.invalid(
                f"{where}.mountPath", path, "must not already exist as a path in volumeDevices"
            )
        _check_sub_paths(found, at, where, mount)
        _check_propagation(found, at, mount, container)
        _check_recursive(found, at, mount)


def _check_sub_paths(found: Findings, at: str, where: str, mount: Json) -> None:
    # These messages name the list, not its element; so does Kubernetes.
    if path := mount.get("subPath"):
        check_relative_path(found, f"{at}.subPath", path)
    if expression := mount.get("subPathExpr"):
        if mount.get("subPath"):
            found.invalid(
                f"{where}.subPathExpr",
                expression,
                "subPathExpr and subPath are mutually exclusive",
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
    mounted = {mount.get("name") for mount in container.get("volumeMounts") or ()}
    paths = {mount.get("mountPath") for mount in container.get("volumeMounts") or ()}
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
        if path and path in seen_paths:
            found.invalid(f"{where}.devicePath", path, "must be unique")
        if path and ".." in path.split("/"):
            found.invalid(f"{where}.devicePath", path, "can not contain backsteps ('..')")
        seen_names.add(name)
        seen_paths.add(path)
        if name in mounted:
            found.invalid(f"{where}.name", name, "must not already exist in volumeMounts")
        if path in paths:
            found.invalid(
                f"{where}.devicePath", path, "must not already exist as a path in volumeMounts"
            )
