"""Cells that persistent volumes and claims share."""

from __future__ import annotations

from collections.abc import Sequence

from proreus.api.json_types import Json
from proreus.server.kinds.parts.cells import is_deleting
from proreus.server.kinds.parts.pod_template.volume_warnings import BETA_CLASS

_MODES = (
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
)


def access_modes(modes: Sequence[str] | None) -> str:
    return ",".join(short for long, short in _MODES if long in (modes or ()))


def phase(obj: Json) -> str:
    return "Terminating" if is_deleting(obj) else str((obj.get("status") or {}).get("phase", ""))


def class_name(obj: Json) -> str:
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    if BETA_CLASS in annotations:
        return str(annotations[BETA_CLASS])
    return str((obj.get("spec") or {}).get("storageClassName") or "")
