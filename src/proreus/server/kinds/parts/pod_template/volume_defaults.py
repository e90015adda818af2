"""What kube-apiserver fills into volumes, of pods and of persistent volumes."""

from __future__ import annotations

from proreus.api.json_types import JsonObject
from proreus.server.kinds.parts.pod_template.images import pull_policy

_MODE = 0o644
_RBD = {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}
_AZURE_DISK = {"cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared", "readOnly": False}
_NOTHING: JsonObject = {}
_SOURCE_DEFAULTS: dict[str, JsonObject] = {
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": _RBD,
    "azureDisk": _AZURE_DISK,
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
    "secret": {"defaultMode": _MODE},
    "configMap": {"defaultMode": _MODE},
    "downwardAPI": {"defaultMode": _MODE},
    "projected": {"defaultMode": _MODE},
}


def default_volume(volume: JsonObject) -> None:
    """A pod's volume."""
    if len(volume) == 1 and "name" in volume:
        volume["emptyDir"] = {}  # a volume without a source is an empty directory
        return
    default_volume_source(volume)
    if (image := volume.get("image")) is not None and not image.get("pullPolicy"):
        image["pullPolicy"] = pull_policy(image.get("reference") or "")
    if template := (volume.get("ephemeral") or {}).get("volumeClaimTemplate"):
        template.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
    for source in (volume.get("projected") or {}).get("sources") or ():
        _default_projection(source)
    _default_items((volume.get("downwardAPI") or {}).get("items"))


def default_volume_source(holder: JsonObject) -> None:
    """Whatever holds one of the volume sources: a pod's volume or a persistent volume's spec."""
    for kind, source in holder.items():
        for key, value in _SOURCE_DEFAULTS.get(kind, _NOTHING).items():
            source.setdefault(key, value)


def _default_projection(source: JsonObject) -> None:
    if (token := source.get("serviceAccountToken")) is not None:
        token.setdefault("expirationSeconds", 3600)
    _default_items((source.get("downwardAPI") or {}).get("items"))


def _default_items(files: list[JsonObject] | None) -> None:
    for file in files or ():
        if (field := file.get("fieldRef")) is not None:
            field.setdefault("apiVersion", "v1")
