"""Validation of volumes: those of pods, and the sources persistent volumes share with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from proreus.api import field_error
from proreus.api.json_types import Json
from proreus.api.values import names, quantity
from proreus.server.kinds.parts.annotations import check_annotations
from proreus.server.kinds.parts.claims import check_claim_spec
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.pod_template.mounts import check_no_backsteps
from proreus.server.kinds.parts.pod_template.volume_files import (
    check_config_map,
    check_downward,
    check_projected,
    check_secret,
)
from proreus.server.kinds.parts.pod_template.volume_sources import (
    ISCSI_NAME,
    STORAGE_SYSTEMS,
    Check,
    required,
)

_HOST_PATHS = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File",
               "FileOrCreate", "Socket")  # fmt: skip
# Kubernetes looks for them in this order.
_SOURCES = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs",
    "iscsi", "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte",
    "downwardAPI", "fc", "flexVolume", "configMap", "azureFile", "vsphereVolume",
    "photonPersistentDisk", "portworxVolume", "azureDisk", "storageos", "projected", "scaleIO",
    "csi", "ephemeral", "image",
)  # fmt: skip
_MISSPELT = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}  # where they are one too many
_ORDER = {key: index for index, key in enumerate(_SOURCES)}
_NOT_OF_TEMPLATES = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation",
    "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences",
    "finalizers", "managedFields",
)  # fmt: skip
_GO_NAMES = {"uid": "uID"}  # a Go field's name, with its first letter made small
_ISCSI_NAME_MAX = 64
TOO_MANY = "may not specify more than 1 volume type"


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
    if "iscsi" in given:
        _check_iscsi_name(found, f"{at}.name", volume)
    for key in given[1:]:
        found.forbid(f"{at}.{_MISSPELT.get(key, key)}", TOO_MANY)


def _check_iscsi_name(found: Findings, at: str, volume: Json) -> None:
    name, source = volume.get("name") or "", volume["iscsi"]
    if source.get("initiatorName") is None:
        return
    if len(f"{name}:{source.get('targetPortal') or ''}".encode()) > _ISCSI_NAME_MAX:
        found.invalid(at, name, ISCSI_NAME)


def in_order_of_checks(sources: Iterable[str], order: Mapping[str, int] = _ORDER) -> list[str]:
    """Of several sources the first is checked, the others are too many."""
    return sorted(sources, key=lambda key: order.get(key, len(order)))


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


def _check_csi(found: Findings, at: str, source: Json) -> None:
    check_driver(found, f"{at}.driver", source.get("driver") or "")
    if (reference := source.get("nodePublishSecretRef")) is not None:
        name = reference.get("name") or ""
        if found.require(f"{at}.nodePublishSecretRef.name", name):
            found.name(f"{at}.name", name)


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
    where = f"{at}.volumeClaimTemplate"
    _check_template_metadata(found, f"{where}.metadata", template.get("metadata") or {})
    check_claim_spec(found, f"{where}.spec", template.get("spec") or {})


def _check_template_metadata(found: Findings, at: str, metadata: Json) -> None:
    """Nothing but labels and annotations goes to the claims that are made."""
    check_annotations(found, f"{at}.annotations", metadata.get("annotations"))
    found.labels(f"{at}.labels", metadata.get("labels"))
    for key in _NOT_OF_TEMPLATES:
        if metadata.get(key):
            found.forbid(f"{at}.{_GO_NAMES.get(key, key)}", "cannot be set")


def _check_image(found: Findings, at: str, source: Json) -> None:
    """A template may still lack the reference; see ``pod_volumes``."""
    policies = ("Always", "IfNotPresent", "Never")
    found.required_one_of(f"{at}.pullPolicy", source.get("pullPolicy"), policies)


_CHECKS: Mapping[str, Check] = {
    **STORAGE_SYSTEMS,
    "emptyDir": _check_empty_dir,
    "hostPath": check_host_path,
    "nfs": check_nfs,
    "persistentVolumeClaim": required("claimName"),
    "csi": _check_csi,
    "ephemeral": _check_ephemeral,
    "configMap": check_config_map,
    "secret": check_secret,
    "downwardAPI": check_downward,
    "projected": check_projected,
    "image": _check_image,
}
SOURCE_CHECKS = _CHECKS
