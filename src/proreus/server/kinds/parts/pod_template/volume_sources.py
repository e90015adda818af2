"""Volume sources of storage systems: the fields that each of them requires.

Nearly all are out of use, but Kubernetes still refuses what they could not have
been. Pods and persistent volumes share them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from proreus.api.json_types import Json
from proreus.api.values import names
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.pod_template.mounts import check_relative_path

Check = Callable[[Findings, str, Json], None]
_IQN = re.compile(r"iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+$", re.ASCII)
_EUI = re.compile(r"^eui.[A-Za-z0-9]{16}$", re.ASCII)
_NAA = re.compile(r"^naa.[A-Za-z0-9]{32}$", re.ASCII)
_INITIATORS = {"iqn": _IQN, "eui": _EUI, "naa": _NAA}
ISCSI_NAME = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if "
    "iscsi.initiatorName is specified."
)
_PAIR = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*")  # what Go takes as a host and a port
_PAIRS = "must be a host:port pair or multiple pairs separated by commas"
_MANAGED = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/"
    "{disk-id}"
)
_BLOB = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def required(*fields: str) -> Check:
    def check(found: Findings, at: str, source: Json) -> None:
        for field in fields:
            found.require(f"{at}.{field}", source.get(field))

    return check


def _check_git_repo(found: Findings, at: str, source: Json) -> None:
    found.require(f"{at}.repository", source.get("repository"))
    check_relative_path(found, f"{at}.directory", source.get("directory") or "")


def _disk(field: str) -> Check:
    def check(found: Findings, at: str, source: Json) -> None:
        found.require(f"{at}.{field}", source.get(field))
        partition = source.get("partition") or 0
        if not 0 <= partition <= 255:
            found.invalid(f"{at}.partition", partition, "must be between 1 and 255, inclusive")

    return check


def _check_gce_disk(found: Findings, at: str, source: Json) -> None:
    # The path is spelled without the cloud's name; so does Kubernetes.
    _disk("pdName")(found, at.replace("gcePersistentDisk", "persistentDisk"), source)


def _check_iscsi(found: Findings, at: str, source: Json) -> None:
    found.require(f"{at}.targetPortal", source.get("targetPortal"))
    if found.require(f"{at}.iqn", source.get("iqn")):
        _check_initiator(found, f"{at}.iqn", source["iqn"])
    found.between(f"{at}.lun", source.get("lun") or 0, 0, 255)
    wants_secret = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if wants_secret and source.get("secretRef") is None:
        found.require(f"{at}.secretRef", None)
    if (initiator := source.get("initiatorName")) is not None:
        _check_initiator(found, f"{at}.initiatorname", initiator)


def is_initiator(name: str) -> bool:
    pattern = _INITIATORS.get(name[:3])
    return pattern is not None and pattern.search(name) is not None


def _check_initiator(found: Findings, at: str, name: str) -> None:
    if name[:3] not in _INITIATORS:
        found.invalid(at, name, "must be valid format starting with iqn, eui, or naa")
    elif not is_initiator(name):
        found.invalid(at, name, "must be valid format")


def _check_fc(found: Findings, at: str, source: Json) -> None:
    targets, ids = source.get("targetWWNs") or [], source.get("wwids")
    at_targets = f"{at}.targetWWNs"
    if not targets and not ids:
        why = "must specify either targetWWNs or wwids, but not both"
        found.require(at_targets, None, why)
    if targets and ids:
        why = "targetWWNs and wwids can not be specified simultaneously"
        found.invalid(at_targets, targets, why)
    if targets:
        if source.get("lun") is None:
            found.require(f"{at}.lun", None, "lun is required if targetWWNs is specified")
        found.between(f"{at}.lun", source.get("lun"), 0, 255)


def _check_quobyte(found: Findings, at: str, source: Json) -> None:
    registry = source.get("registry") or ""
    if found.require(f"{at}.registry", registry, _PAIRS):
        if len(source.get("tenant") or "") > 64:
            why = "must be a UUID and may not exceed a length of 64 characters"
            found.require(f"{at}.tenant", None, why)
        else:
            for pair in registry.split(","):
                if not _PAIR.fullmatch(pair):
                    found.invalid(f"{at}.registry", registry, _PAIRS)
    found.require(f"{at}.volume", source.get("volume"))


def _check_flocker(found: Findings, at: str, source: Json) -> None:
    name, uid = source.get("datasetName") or "", source.get("datasetUUID")
    found.require(at, name or uid, "one of datasetName and datasetUUID is required")
    if name and uid:
        why = "datasetName and datasetUUID can not be specified simultaneously"
        found.invalid(at, "resource", why)
    if "/" in name:
        found.invalid(f"{at}.datasetName", name, "must not contain '/'")


def _check_flex(found: Findings, at: str, source: Json) -> None:
    found.require(f"{at}.driver", source.get("driver"))
    for key in sorted(source.get("options") or ()):
        namespace = f".{key.partition('/')[0].lower()}"
        if namespace.endswith((".kubernetes.io", ".k8s.io")):
            why = "kubernetes.io and k8s.io namespaces are reserved"
            found.invalid(f"{at}.options[{key}]", key, why)


def _check_azure_disk(found: Findings, at: str, source: Json) -> None:
    required("diskName", "diskURI")(found, at, source)
    uri, kind = source.get("diskURI") or "", source.get("kind")
    caching = ("None", "ReadOnly", "ReadWrite")
    found.one_of(f"{at}.cachingMode", source.get("cachingMode"), caching)
    found.one_of(f"{at}.kind", kind, ("Dedicated", "Managed", "Shared"))
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        found.one_of(f"{at}.diskURI", uri, (_MANAGED,))
    elif kind not in (None, "Managed") and not uri.startswith("https://"):
        found.one_of(f"{at}.diskURI", uri, (_BLOB,))


def _check_storage_os(found: Findings, at: str, source: Json) -> None:
    found.required_name(f"{at}.volumeName", source.get("volumeName"), names.dns_label)
    if source.get("volumeNamespace"):
        found.name(f"{at}.volumeNamespace", source["volumeNamespace"], names.dns_label)
    _check_secret(found, at, source)


def _check_cinder(found: Findings, at: str, source: Json) -> None:
    found.require(f"{at}.volumeID", source.get("volumeID"))
    _check_secret(found, at, source)


def _check_secret(found: Findings, at: str, source: Json) -> None:
    if (reference := source.get("secretRef")) is not None:
        found.require(f"{at}.secretRef.name", reference.get("name"))


STORAGE_SYSTEMS: Mapping[str, Check] = {
    "gitRepo": _check_git_repo,
    "gcePersistentDisk": _check_gce_disk,
    "awsElasticBlockStore": _disk("volumeID"),
    "iscsi": _check_iscsi,
    "glusterfs": required("endpoints", "path"),
    "flocker": _check_flocker,
    "rbd": required("monitors", "image"),
    "cinder": _check_cinder,
    "cephfs": required("monitors"),
    "quobyte": _check_quobyte,
    "fc": _check_fc,
    "flexVolume": _check_flex,
    "azureFile": required("secretName", "shareName"),
    "vsphereVolume": required("volumePath"),
    "photonPersistentDisk": required("pdID"),
    "portworxVolume": required("volumeID"),
    "azureDisk": _check_azure_disk,
    "storageos": _check_storage_os,
    "scaleIO": required("gateway", "system", "volumeName"),
}
