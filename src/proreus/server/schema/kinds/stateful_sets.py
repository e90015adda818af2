"""Stateful sets and daemon sets, and the revisions both keep of themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.values import names
from proreus.server.schema.kinds.claims import check_claim_spec
from proreus.server.schema.kinds.findings import Findings, items
from proreus.server.schema.kinds.pod_defaults import default_pod_template
from proreus.server.schema.kinds.pod_spec import check_template_metadata
from proreus.server.schema.kinds.workloads import (
    check_always_restarts,
    check_collisions,
    check_counts,
    check_not_over_100,
    check_selector,
    check_selector_and_template,
    check_share,
    is_zero,
    template_warnings,
)
from proreus.server.schema.rules import JsonObject, Rules

Json = Mapping[str, Any]
_RETENTION = ("whenDeleted", "whenScaled")
_GENERATION = "deprecated.daemonset.template.generation"
_DIGITS_MAX = 18  # a counter of more is none of ours


def _default_stateful_set(obj: JsonObject) -> None:
    spec = obj["spec"]
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec.setdefault("updateStrategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("partition", 0)
        rolling.setdefault("maxUnavailable", 1)
    policy = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    for key in _RETENTION:
        policy.setdefault(key, "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    default_pod_template(spec.setdefault("template", {}))
    for claim in spec.get("volumeClaimTemplates") or ():
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
        claim.setdefault("status", {}).setdefault("phase", "Pending")


def _validate_stateful_set(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    policy = spec.get("podManagementPolicy") or ""
    if found.require("spec.podManagementPolicy", policy) and policy not in (
        "OrderedReady",
        "Parallel",
    ):
        found.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    _check_update_strategy(found, "spec.updateStrategy", spec.get("updateStrategy") or {})
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for key in _RETENTION:
        found.one_of(
            f"spec.persistentVolumeClaimRetentionPolicy.{key}",
            retention.get(key),
            ("Retain", "Delete"),
        )
    found.not_negative("spec.replicas", spec.get("replicas"))
    found.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    found.not_negative("spec.ordinals.start", (spec.get("ordinals") or {}).get("start"))
    template = spec.get("template") or {}
    if check_selector(found, "spec", spec, kind="statefulset"):
        # The pod itself is not looked at: its volumes may come from the claims below.
        check_template_metadata(found, "spec.template", template)
    check_always_restarts(found, "spec.template", template, "StatefulSet")
    if spec.get("serviceName"):
        found.name("spec.serviceName", spec["serviceName"], names.dns_label)
    for where, claim in items(spec.get("volumeClaimTemplates"), "spec.volumeClaimTemplates"):
        check_claim_spec(found, f"{where}.spec", claim.get("spec") or {})
    return found


def _check_update_strategy(found: Findings, at: str, strategy: Json) -> None:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type") or "":
        case "":
            found.require(at, None)
        case "OnDelete":
            if rolling is not None:
                shown = {
                    "Partition": rolling.get("partition") or 0,
                    "MaxUnavailable": rolling.get("maxUnavailable"),
                }
                why = "only allowed for updateStrategy 'RollingUpdate'"
                found.invalid(f"{at}.rollingUpdate", shown, why)
        case "RollingUpdate":
            if rolling is not None:
                found.not_negative(f"{at}.rollingUpdate.partition", rolling.get("partition"))
                where, value = f"{at}.rollingUpdate.maxUnavailable", rolling.get("maxUnavailable")
                check_share(found, where, value)
                if value is not None and is_zero(value):
                    found.invalid(where, value, "cannot be 0")
                check_not_over_100(found, where, value)
        case other:
            shown = {"Type": other, "RollingUpdate": rolling}
            found.invalid(at, shown, "must be 'RollingUpdate' or 'OnDelete'")


def _stateful_set_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate_stateful_set(new))
    spec, before = new["spec"], old["spec"]
    for key in ("serviceName", "podManagementPolicy", "selector"):
        found.immutable(f"spec.{key}", spec.get(key), before.get(key))
    found.immutable(
        "spec.volumeClaimTemplates",
        spec.get("volumeClaimTemplates") or [],
        before.get("volumeClaimTemplates") or [],
    )
    return found


def _stateful_set_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found, status = Findings(), new.get("status") or {}
    parts = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    others = ("observedGeneration", "collisionCount")
    check_counts(found, status, parts, *others, ready="status.readyReplicas")
    check_collisions(found, new, old)
    return found


STATEFUL_SET = Rules(
    default=_default_stateful_set,
    validate=_validate_stateful_set,
    validate_update=_stateful_set_update,
    validate_status=_stateful_set_status,
    warnings=template_warnings,
    warns_of_changes=True,
)


# --- daemon sets


def _default_daemon_set(obj: JsonObject) -> None:
    spec = obj["spec"]
    strategy = spec.setdefault("updateStrategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    default_pod_template(spec.setdefault("template", {}))


def _prepare_daemon_set(obj: JsonObject) -> None:
    obj["metadata"].setdefault("annotations", {})[_GENERATION] = "1"


def _prepare_daemon_set_update(new: JsonObject, old: JsonObject) -> None:
    """The old counter of template changes lives on as an annotation."""
    before = (old["metadata"].get("annotations") or {}).get(_GENERATION) or "0"
    count = int(before) if before.isdecimal() and len(before) < _DIGITS_MAX else 0
    if new["spec"].get("template") != old["spec"].get("template"):
        count += 1
    new["metadata"].setdefault("annotations", {})[_GENERATION] = str(count)


def _validate_daemon_set(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    check_selector_and_template(found, "spec", spec, kind="daemonset")
    check_always_restarts(found, "spec.template", spec.get("template") or {}, "DaemonSet")
    found.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    _check_daemon_strategy(found, "spec.updateStrategy", spec.get("updateStrategy") or {})
    found.not_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))
    return found


def _check_daemon_strategy(found: Findings, at: str, strategy: Json) -> None:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "OnDelete":
            return
        case "RollingUpdate":
            if rolling is None:
                found.require(f"{at}.rollingUpdate", None)
                return
            surge, unavailable = rolling.get("maxSurge"), rolling.get("maxUnavailable")
            check_share(found, f"{at}.rollingUpdate.maxUnavailable", unavailable)
            check_share(found, f"{at}.rollingUpdate.maxSurge", surge)
            check_not_over_100(found, f"{at}.rollingUpdate.maxUnavailable", unavailable)
            check_not_over_100(found, f"{at}.rollingUpdate.maxSurge", surge)
            if is_zero(surge) and is_zero(unavailable):
                why = "cannot be 0 when maxSurge is 0"
                found.require(f"{at}.rollingUpdate.maxUnavailable", None, why)
            elif not is_zero(surge) and not is_zero(unavailable):
                why = "may not be set when maxUnavailable is non-zero"
                found.invalid(f"{at}.rollingUpdate.maxSurge", surge, why)
        case other:
            shown = {"Type": other or "", "RollingUpdate": rolling}
            found.append(field_error.not_supported(at, shown, ("RollingUpdate", "OnDelete")))


def _daemon_set_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate_daemon_set(new))
    found.immutable("spec.selector", new["spec"].get("selector"), old["spec"].get("selector"))
    return found


_DAEMON_COUNTS = (
    "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady",
    "observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable",
    "collisionCount",
)  # fmt: skip


def _daemon_set_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found, status = Findings(), new.get("status") or {}
    for key in _DAEMON_COUNTS:
        found.not_negative(f"status.{key}", status.get(key))
    check_collisions(found, new, old)
    return found


DAEMON_SET = Rules(
    default=_default_daemon_set,
    prepare_create=_prepare_daemon_set,
    prepare_update=_prepare_daemon_set_update,
    validate=_validate_daemon_set,
    validate_update=_daemon_set_update,
    validate_status=_daemon_set_status,
    warnings=template_warnings,
    warns_of_changes=True,
)


# --- controller revisions


def _validate_revision(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    content = obj.get("data")
    if content is None:
        found.require("data", None, "data is mandatory")
    elif not isinstance(content, dict):
        found.require("data", None, "data must be a valid JSON object")
    found.not_negative("revision", obj.get("revision"))
    return found


def _revision_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate_revision(new))
    found.immutable("data", new.get("data"), old.get("data"))
    return found


CONTROLLER_REVISION = Rules(validate=_validate_revision, validate_update=_revision_update)
