"""The spec of persistent volume claims, also inside pods and stateful sets."""

from __future__ import annotations

from proreus.api.json_types import Json
from proreus.api.values import names, quantity
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.label_selectors import check_selector

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")


def check_claim_spec(found: Findings, at: str, spec: Json) -> None:
    modes = spec.get("accessModes") or []
    found.require(f"{at}.accessModes", modes, "at least 1 access mode is required")
    check_selector(found, f"{at}.selector", spec.get("selector"))
    check_access_modes(found, f"{at}.accessModes", modes)
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is None:
        found.require(f"{at}.resources[storage]", None)
    elif quantity.amount(storage) <= 0:
        found.invalid(f"{at}.resources[storage]", storage, "must be greater than zero")
    if spec.get("storageClassName"):
        found.name(f"{at}.storageClassName", spec["storageClassName"])
    found.one_of(f"{at}.volumeMode", spec.get("volumeMode"), VOLUME_MODES)
    for key in ("dataSource", "dataSourceRef"):
        if (source := spec.get(key)) is not None:
            _check_source(found, f"{at}.{key}", source)
    _check_same_source(found, at, spec.get("dataSource"), spec.get("dataSourceRef"))
    if spec.get("volumeAttributesClassName"):
        found.name(f"{at}.volumeAttributesClassName", spec["volumeAttributesClassName"])


def check_access_modes(found: Findings, at: str, modes: list[str]) -> None:
    for mode in modes:
        found.one_of(at, mode, ACCESS_MODES)
    if "ReadWriteOncePod" in modes and len(set(modes) & set(ACCESS_MODES)) > 1:
        found.forbid(at, "may not use ReadWriteOncePod with other access modes")


def _check_same_source(
    found: Findings, at: str, source: Json | None, reference: Json | None
) -> None:
    """The old and the new name of one thing; Kubernetes prints a path without its parts, ``{}``."""
    if source is None or reference is None:
        return
    if reference.get("namespace"):
        found.invalid(at, {}, "may not be specified when dataSourceRef.namespace is specified")
    elif any(
        (source.get(key) or "") != (reference.get(key) or "")
        for key in ("apiGroup", "kind", "name")
    ):
        found.invalid(at, {}, "must match dataSourceRef")


def _check_source(found: Findings, at: str, source: Json) -> None:
    found.require(f"{at}.name", source.get("name"))
    found.require(f"{at}.kind", source.get("kind"))
    if not source.get("apiGroup") and source.get("kind") != "PersistentVolumeClaim":
        found.invalid(
            at,
            source.get("kind") or "",
            "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
        )
    if source.get("apiGroup"):
        found.name(f"{at}.apiGroup", source["apiGroup"])
    if source.get("namespace"):
        found.name(f"{at}.namespace", source["namespace"], names.dns_label)
