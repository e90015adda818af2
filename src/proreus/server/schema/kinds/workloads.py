"""Deployments, replica sets and replication controllers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.values import int_or_string
from proreus.server.schema.kinds import label_selectors
from proreus.server.schema.kinds.findings import NOT_NEGATIVE, Findings
from proreus.server.schema.kinds.pod_defaults import default_pod_template
from proreus.server.schema.kinds.pod_spec import check_pod_template
from proreus.server.schema.kinds.pod_warnings import name_warnings, pod_warnings
from proreus.server.schema.rules import JsonObject, Rules

Json = Mapping[str, Any]
NO_MATCH = "`selector` does not match template `labels`"


def check_selector_and_template(found: Findings, at: str, spec: Json, *, kind: str) -> None:
    """The selector must be there, say something, and match what the template makes."""
    if check_selector(found, at, spec, kind=kind):
        check_pod_template(found, f"{at}.template", spec.get("template") or {})


def check_selector(found: Findings, at: str, spec: Json, *, kind: str) -> bool:
    """Whether the template is worth a look."""
    selector, template = spec.get("selector"), spec.get("template") or {}
    if selector is None:
        found.require(f"{at}.selector", None)
    else:
        label_selectors.check_selector(found, f"{at}.selector", selector)
        if label_selectors.is_empty(selector):
            found.invalid(f"{at}.selector", selector, f"empty selector is invalid for {kind}")
        if not label_selectors.is_valid(selector):
            # Of a stateful set nothing more is said.
            why = "" if kind == "statefulset" else "invalid label selector"
            found.invalid(f"{at}.selector", selector, why)
            return False
    check_match(found, f"{at}.template", selector, template)
    return True


def check_match(found: Findings, at: str, selector: Json | None, template: Json) -> None:
    labels = (template.get("metadata") or {}).get("labels")
    if not label_selectors.matches(selector, labels or {}):
        found.invalid(f"{at}.metadata.labels", labels, NO_MATCH)


def check_always_restarts(
    found: Findings, at: str, template: Json, kind: str = "ReplicaSet"
) -> None:
    spec = template.get("spec") or {}
    found.one_of(f"{at}.spec.restartPolicy", spec.get("restartPolicy"), ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        found.forbid(
            f"{at}.spec.activeDeadlineSeconds",
            f"activeDeadlineSeconds in {kind} is not Supported",
        )


def check_share(found: Findings, at: str, value: int | str | None) -> None:
    """A count or a percentage of pods."""
    if isinstance(value, str):
        for why in int_or_string.percent_errors(value):
            found.invalid(at, value, why)
    elif value is not None and value < 0:
        found.invalid(at, value, NOT_NEGATIVE)


def is_zero(value: int | str | None) -> bool:
    return value in (None, 0, "0%")


# --- deployments


def _default_deployment(obj: JsonObject) -> None:
    spec = obj["spec"]
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    default_pod_template(spec.setdefault("template", {}))


def _validate_deployment(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    found.not_negative("spec.replicas", spec.get("replicas"))
    check_selector_and_template(found, "spec", spec, kind="deployment")
    if (spec.get("replicas") or 0) >= 0:
        check_always_restarts(found, "spec.template", spec.get("template") or {})
    _check_strategy(found, "spec.strategy", spec.get("strategy") or {})
    for key in ("minReadySeconds", "revisionHistoryLimit"):
        found.not_negative(f"spec.{key}", spec.get(key))
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        found.not_negative("spec.progressDeadlineSeconds", deadline)
        if deadline <= (spec.get("minReadySeconds") or 0):
            found.invalid(
                "spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"
            )
    return found


def _check_strategy(found: Findings, at: str, strategy: Json) -> None:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "Recreate":
            if rolling is not None:
                found.forbid(
                    f"{at}.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'"
                )
        case "RollingUpdate":
            if rolling is None:
                found.require(
                    f"{at}.rollingUpdate", None, "this should be defaulted and never be nil"
                )
                return
            surge, unavailable = rolling.get("maxSurge"), rolling.get("maxUnavailable")
            check_share(found, f"{at}.rollingUpdate.maxUnavailable", unavailable)
            check_share(found, f"{at}.rollingUpdate.maxSurge", surge)
            if is_zero(surge) and is_zero(unavailable):
                found.invalid(
                    f"{at}.rollingUpdate.maxUnavailable",
                    unavailable,
                    "may not be 0 when `maxSurge` is 0",
                )
            check_not_over_100(found, f"{at}.rollingUpdate.maxUnavailable", unavailable)
        case other:
            shown = {"Type": other or "", "RollingUpdate": rolling}
            found.append(field_error.not_supported(at, shown, ("Recreate", "RollingUpdate")))


def check_not_over_100(found: Findings, at: str, value: int | str | None) -> None:
    if isinstance(value, str) and (int_or_string.percent(value) or 0) > 100:
        found.invalid(at, value, "must not be greater than 100%")


def _deployment_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate_deployment(new))
    found.immutable("spec.selector", new["spec"].get("selector"), old["spec"].get("selector"))
    return found


def _deployment_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found, status = Findings(), new.get("status") or {}
    found.not_negative("status.observedGeneration", status.get("observedGeneration"))
    check_counts(found, status, ("updatedReplicas", "readyReplicas", "availableReplicas"),
                 "unavailableReplicas", "collisionCount")  # fmt: skip
    check_collisions(found, new, old)
    return found


def check_counts(
    found: Findings,
    status: Json,
    parts: tuple[str, ...],
    *others: str,
    ready: str = "readyReplicas",
) -> None:
    """No part of the replicas is more than they are, and only what is ready is available."""
    for key in ("replicas", *parts, *others):
        found.not_negative(f"status.{key}", status.get(key))
    replicas, available = status.get("replicas") or 0, status.get("availableReplicas") or 0
    for key in parts:
        if (count := status.get(key) or 0) > replicas:
            found.invalid(f"status.{key}", count, "cannot be greater than status.replicas")
    if available > (status.get("readyReplicas") or 0):
        found.invalid("status.availableReplicas", available, f"cannot be greater than {ready}")


def check_collisions(found: Findings, new: Json, old: Json) -> None:
    count = (new.get("status") or {}).get("collisionCount") or 0
    if count < ((old.get("status") or {}).get("collisionCount") or 0):
        found.invalid("status.collisionCount", count, "cannot be decremented")


def template_warnings(obj: JsonObject) -> list[str]:
    return pod_warnings(obj["spec"].get("template") or {}, "spec.template")


def _keep_labels(new: JsonObject, old: JsonObject) -> None:
    """Through its status a deployment's labels cannot be changed."""
    new["metadata"].pop("labels", None)
    if "labels" in old["metadata"]:
        new["metadata"]["labels"] = old["metadata"]["labels"]


DEPLOYMENT = Rules(
    default=_default_deployment,
    prepare_status=_keep_labels,
    validate=_validate_deployment,
    validate_update=_deployment_update,
    validate_status=_deployment_status,
    warnings=template_warnings,
    warnings_on_create=name_warnings,
    warns_of_changes=True,
)


# --- replica sets


def _default_replica_set(obj: JsonObject) -> None:
    spec = obj["spec"]
    spec.setdefault("replicas", 1)
    default_pod_template(spec.setdefault("template", {}))


def _validate_replica_set(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    found.not_negative("spec.replicas", spec.get("replicas"))
    found.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    check_selector_and_template(found, "spec", spec, kind="deployment")  # so it says
    if (spec.get("replicas") or 0) >= 0:
        check_always_restarts(found, "spec.template", spec.get("template") or {})
    return found


def _replica_set_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate_replica_set(new))
    found.immutable("spec.selector", new["spec"].get("selector"), old["spec"].get("selector"))
    return found


def _replica_set_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found, status = Findings(), new.get("status") or {}
    parts = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    check_counts(found, status, parts, "observedGeneration")
    return found


REPLICA_SET = Rules(
    default=_default_replica_set,
    validate=_validate_replica_set,
    validate_update=_replica_set_update,
    validate_status=_replica_set_status,
    warnings=template_warnings,
    warnings_on_create=name_warnings,
    warns_of_changes=True,
)


# --- replication controllers


def _default_controller(obj: JsonObject) -> None:
    spec = obj["spec"]
    template = spec.get("template")
    labels = ((template or {}).get("metadata") or {}).get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = dict(labels)
    spec.setdefault("replicas", 1)
    if template is not None:
        default_pod_template(template)


def _validate_controller(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    found.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    found.require("spec.selector", spec.get("selector"))
    found.not_negative("spec.replicas", spec.get("replicas"))
    template = spec.get("template")
    if template is None:
        found.require("spec.template", None)
        return found
    selector = {"matchLabels": spec.get("selector") or {}}
    if spec.get("selector"):
        check_match(found, "spec.template", selector, template)
    check_pod_template(found, "spec.template", template)
    if (spec.get("replicas") or 0) >= 0:
        check_always_restarts(found, "spec.template", template, "ReplicationController")
    return found


REPLICATION_CONTROLLER = Rules(
    default=_default_controller,
    validate=_validate_controller,
    validate_update=lambda new, _: _validate_controller(new),
    validate_status=_replica_set_status,
    warnings=template_warnings,
    warnings_on_create=name_warnings,
    warns_of_changes=True,
)
