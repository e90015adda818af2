"""Validation of volumes: those of pods, and the sources persistent volumes share with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from proreus.api import field_error
from proreus.api.values import names, quantity
from proreus.server.schema.kinds.claims import check_claim_spec
from proreus.server.schema.kinds.environment import (
    FILE_FIELDS,
    check_field_ref,
    check_resource_ref,
)
from proreus.server.schema.kinds.findings import Findings, items
from proreus.server.schema.kinds.mounts import check_no_backsteps, check_relative_path

Json = Mapping[str, Any]
_HOST_PATHS = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File",
               "FileOrCreate", "Socket")  # fmt: skip
# Kubernetes looks for them in this order.
_SOURCES = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs",
    "iscsi", "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte",
    "downwardAPI", "fc", "flexVolume", "configMap", "azureFile", "vsphereVolume",
    "photonPersistentDisk", "portworxVolume", "azureDisk", "storageos", "projected", "scaleIO",
    "local", "csi", "ephemeral", "image",
)  # fmt: skip
_ORDER = {key: index for index, key in enumerate(_SOURCES)}
_MODE_TEXT = "must be a number between 0 and 0777 (octal), both inclusive"


def check_volumes(found: Findings, at: str, volumes: list[Json] | None) -> dict[str, Json]:
    """All volumes of a pod; the result maps the good names to them."""
    known: dict[str, Json] = {}
    for where, volume in items(volumes, at):
        before = len(found)
        _check_source(found, where, volume)
        name = volume.get("name") or ""
        if found.require(f"{where}.name", name):
            found.name(f"{where}.name", name, names.dns_label)
            if name in known:
                found.duplicate(f"{where}.name", name)
        if len(found) == before:
            known[name] = volume
    return known


def _check_source(found: Findings, at: str, volume: Json) -> None:
    given = in_order_of_checks(key for key in volume if key != "name" and volume[key] is not None)
    if not given:
        found.require(at, None, "must specify a volume type")
    elif check := _CHECKS.get(given[0]):
        check(found, f"{at}.{given[0]}", volume[given[0]])
    for key in given[1:]:
        found.forbid(f"{at}.{key}", "may not specify more than 1 volume type")


def in_order_of_checks(sources: Iterable[str]) -> list[str]:
    """Of several sources the first is judged, the others are too many."""
    return sorted(sources, key=lambda key: _ORDER.get(key, len(_ORDER)))


def check_host_path(found: Findings, at: str, source: Json) -> None:
    path = source.get("path") or ""
    if found.require(f"{at}.path", path):
        check_no_backsteps(found, f"{at}.path", path)
        found.one_of(f"{at}.type", source.get("type"), _HOST_PATHS)


def _check_empty_dir(found: Findings, at: str, source: Json) -> None:
    limit = source.get("sizeLimit")
    if limit is not None and quantity.amount(limit) < 0:
        found.forbid(f"{at}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def check_nfs(found: Findings, at: str, source: Json) -> None:
    found.require(f"{at}.server", source.get("server"))
    path = source.get("path") or ""
    found.require(f"{at}.path", path)
    if not path.startswith("/"):
        found.invalid(f"{at}.path", path, "must be an absolute path")


def _required(*fields: str) -> Callable[[Findings, str, Json], None]:
    def check(found: Findings, at: str, source: Json) -> None:
        for field in fields:
            found.require(f"{at}.{field}", source.get(field))

    return check


def _check_csi(found: Findings, at: str, source: Json) -> None:
    check_driver(found, f"{at}.driver", source.get("driver") or "")


def check_driver(found: Findings, at: str, driver: str) -> None:
    if not found.require(at, driver):
        return
    if len(driver) > 63:
        found.append(field_error.too_long(at, 63))
    for why in names.dns_subdomain(driver.lower()):
        found.invalid(at, driver, why)


def _check_ephemeral(found: Findings, at: str, source: Json) -> None:
    template = source.get("volumeClaimTemplate")
    if template is None:
        found.require(f"{at}.volumeClaimTemplate", None)
        return
    check_claim_spec(found, f"{at}.volumeClaimTemplate.spec", template.get("spec") or {})


def _check_config_map(found: Findings, at: str, source: Json) -> None:
    found.require(f"{at}.name", source.get("name"))
    _check_mode(found, f"{at}.defaultMode", source.get("defaultMode"))
    _check_items(found, f"{at}.items", source.get("items"))


def _check_secret(found: Findings, at: str, source: Json) -> None:
    found.require(f"{at}.secretName", source.get("secretName"))
    _check_mode(found, f"{at}.defaultMode", source.get("defaultMode"))
    _check_items(found, f"{at}.items", source.get("items"))


def _check_items(found: Findings, at: str, entries: list[Json] | None) -> None:
    for where, entry in items(entries, at):
        found.require(f"{where}.key", entry.get("key"))
        _check_file_path(found, f"{where}.path", entry.get("path") or "")
        _check_mode(found, f"{where}.mode", entry.get("mode"))


def _check_file_path(found: Findings, at: str, path: str) -> None:
    if found.require(at, path):
        check_relative_path(found, at, path)
        if path.startswith("..") and not path.startswith("../"):
            found.invalid(at, path, "must not start with '..'")


def _check_mode(found: Findings, at: str, mode: int | None) -> None:
    if mode is not None and not 0 <= mode <= 0o777:
        found.invalid(at, mode, _MODE_TEXT)


def _check_downward(found: Findings, at: str, source: Json) -> None:
    _check_mode(found, f"{at}.defaultMode", source.get("defaultMode"))
    _check_files(found, at, source)


def _check_files(found: Findings, at: str, source: Json) -> None:
    for _, file in items(source.get("items"), f"{at}.items"):
        _check_file_path(found, f"{at}.path", file.get("path") or "")
        field, resource = file.get("fieldRef"), file.get("resourceFieldRef")
        if field is not None:
            check_field_ref(found, f"{at}.fieldRef", field, FILE_FIELDS)
            if resource is not None:
                found.invalid(
                    at,
                    "resource",
                    "fieldRef and resourceFieldRef can not be specified simultaneously",
                )
        elif resource is not None:
            check_resource_ref(found, f"{at}.resourceFieldRef", resource, in_volume=True)
        else:
            found.require(at, None, "one of fieldRef and resourceFieldRef is required")
        _check_mode(found, f"{at}.mode", file.get("mode"))


def _check_projected(found: Findings, at: str, source: Json) -> None:
    _check_mode(found, f"{at}.defaultMode", source.get("defaultMode"))
    for where, projection in items(source.get("sources"), f"{at}.sources"):
        given = [key for key, value in projection.items() if value is not None]
        for key in given[1:]:
            found.forbid(f"{where}.{key}", "may not specify more than 1 volume type")
        if not given:
            found.require(where, None, "must specify a volume type")
            continue
        kind, part = given[0], projection[given[0]]
        match kind:
            case "secret" | "configMap":
                found.require(f"{where}.{kind}.name", part.get("name"))
                _check_items(found, f"{where}.{kind}.items", part.get("items"))
            case "downwardAPI":
                _check_files(found, f"{where}.downwardAPI", part)
            case "serviceAccountToken":
                _check_token(found, f"{where}.serviceAccountToken", part)


def _check_token(found: Findings, at: str, token: Json) -> None:
    seconds = token.get("expirationSeconds", 3600)
    if seconds < 600:
        found.invalid(
            f"{at}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes"
        )
    if seconds > 1 << 32:
        found.invalid(
            f"{at}.expirationSeconds",
            seconds,
            "may not specify a duration larger than 2^32 seconds",
        )
    if found.require(f"{at}.path", token.get("path")):
        check_relative_path(found, f"{at}.path", token["path"])


_CHECKS: Mapping[str, Callable[[Findings, str, Json], None]] = {
    "emptyDir": _check_empty_dir,
    "hostPath": check_host_path,
    "nfs": check_nfs,
    "persistentVolumeClaim": _required("claimName"),
    "csi": _check_csi,
    "ephemeral": _check_ephemeral,
    "configMap": _check_config_map,
    "secret": _check_secret,
    "downwardAPI": _check_downward,
    "projected": _check_projected,
    "image": _required("reference"),
    "gcePersistentDisk": _required("pdName"),
    "awsElasticBlockStore": _required("volumeID"),
    "glusterfs": _required("endpoints", "path"),
    "flexVolume": _required("driver"),
    "rbd": _required("monitors", "image"),
    "cinder": _required("volumeID"),
    "cephfs": _required("monitors"),
    "azureFile": _required("secretName", "shareName"),
    "vsphereVolume": _required("volumePath"),
    "photonPersistentDisk": _required("pdID"),
    "portworxVolume": _required("volumeID"),
    "scaleIO": _required("gateway", "system", "volumeName"),
    "storageos": _required("volumeName"),
    "gitRepo": _required("repository"),
}
SOURCE_CHECKS = _CHECKS
