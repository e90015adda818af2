"""Small cluster kinds: priority and runtime classes, leases, service account tokens."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.values import names
from proreus.server.schema.kinds.findings import Findings
from proreus.server.schema.kinds.node_labels import deprecated_label
from proreus.server.schema.kinds.resources import check_overhead
from proreus.server.schema.kinds.scheduling import check_tolerations
from proreus.server.schema.rules import JsonObject, Rules

_SYSTEM_PREFIX = "system-"
_USER_PRIORITY_MAX = 1_000_000_000
_SYSTEM_PRIORITIES = {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}
_TOKEN_MIN_S = 600
_TOKEN_MAX_S = 1 << 32


# --- priority classes


def _default_priority(obj: JsonObject) -> None:
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _validate_priority(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    name, value = obj["metadata"].get("name") or "", obj.get("value") or 0
    if name.startswith(_SYSTEM_PREFIX):
        if _SYSTEM_PRIORITIES.get(name) != value:
            found.forbid(
                "metadata.name",
                "priority class names with '" + _SYSTEM_PREFIX + "' prefix are reserved for "
                "system use only. error: "
                + (
                    f"value of {name} PriorityClass must be {_SYSTEM_PRIORITIES[name]}"
                    if name in _SYSTEM_PRIORITIES
                    else f"{name} is not a known system priority class"
                ),
            )
    elif value > _USER_PRIORITY_MAX:
        found.forbid(
            "value", f"maximum allowed value of a user defined priority is {_USER_PRIORITY_MAX}"
        )
    policy = obj.get("preemptionPolicy")
    found.one_of("preemptionPolicy", policy, ("PreemptLowerPriority", "Never"))
    return found


def _priority_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    if (new.get("value") or 0) != (old.get("value") or 0):
        found.forbid("value", "may not be changed in an update.")
    found.immutable("preemptionPolicy", new.get("preemptionPolicy"), old.get("preemptionPolicy"))
    return found


PRIORITY_CLASS = Rules(
    default=_default_priority, validate=_validate_priority, validate_update=_priority_update
)


# --- runtime classes


def _validate_runtime(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    if found.require("handler", obj.get("handler")):
        found.name("handler", obj["handler"], names.dns_label)
    if (overhead := obj.get("overhead")) is not None:
        check_overhead(found, "overhead", overhead.get("podFixed"))
    if (scheduling := obj.get("scheduling")) is not None:
        found.labels("scheduling.nodeSelector", scheduling.get("nodeSelector"))
        check_tolerations(found, "scheduling.tolerations", scheduling.get("tolerations"))
    return found


def _runtime_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    if new.get("handler") != old.get("handler"):
        found.invalid("handler", None, "field is immutable")  # the reference prints no value
    return found


def _runtime_warnings(obj: JsonObject) -> list[str]:
    selector = (obj.get("scheduling") or {}).get("nodeSelector") or ()
    return [
        f"scheduling.nodeSelector: {why}"
        for key in sorted(selector)
        if (why := deprecated_label(key))
    ]


RUNTIME_CLASS = Rules(
    validate=_validate_runtime, validate_update=_runtime_update, warnings=_runtime_warnings
)


# --- leases


def _validate_lease(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj.get("spec") or {}
    found.greater_than_zero("spec.leaseDurationSeconds", spec.get("leaseDurationSeconds"))
    found.not_negative("spec.leaseTransitions", spec.get("leaseTransitions"))
    strategy = spec.get("strategy")
    if strategy is not None:
        at = "spec.strategy.strategy"  # twice; so does Kubernetes
        if "/" in strategy:
            found.name(at, strategy, names.qualified_name)
        else:
            found.one_of(at, strategy, ("OldestEmulationVersion",))
    if spec.get("preferredHolder") and not strategy:
        why = "may only be specified if `strategy` is defined"
        found.forbid("spec.preferredHolder", why)
    return found


LEASE = Rules(validate=_validate_lease, validate_update=lambda new, _: _validate_lease(new))


# --- token requests


def _default_token_request(obj: JsonObject) -> None:
    obj["spec"].setdefault("expirationSeconds", 3600)


def _validate_token_request(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    at, seconds = "spec.expirationSeconds", obj["spec"].get("expirationSeconds") or 0
    if seconds < _TOKEN_MIN_S:
        found.invalid(at, seconds, "may not specify a duration less than 10 minutes")
    if seconds > _TOKEN_MAX_S:
        found.invalid(at, seconds, "may not specify a duration larger than 2^32 seconds")
    return found


TOKEN_REQUEST = Rules(default=_default_token_request, validate=_validate_token_request)
