"""PriorityLevelConfiguration: concurrency limit and queues of a priority level."""

from __future__ import annotations

from proreus.api.field_error import FieldError, Reason
from proreus.api.json_types import Json, JsonObject
from proreus.server.kinds.parts.cells import age, name_of
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.flow_control import LEVEL_KIND, fixed_specs
from proreus.server.resource import Cells, Generation, Lifecycle, Names, Printer, Resource, Rules

_SHARES = 30
_QUEUES_MAX = 10_000_000


def _default(obj: JsonObject) -> None:
    spec = obj["spec"]
    if (limited := spec.get("limited")) is not None:
        limited.setdefault("nominalConcurrencyShares", _SHARES)
        limited.setdefault("lendablePercent", 0)
        if (queuing := (limited.get("limitResponse") or {}).get("queuing")) is not None:
            for key, value in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
                if not queuing.get(key):
                    queuing[key] = value
    if (exempt := spec.get("exempt")) is not None:
        exempt.setdefault("nominalConcurrencyShares", 0)
        exempt.setdefault("lendablePercent", 0)


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    kind, name = spec.get("type") or "", obj["metadata"].get("name")
    is_exempt = kind == "Exempt"
    if kind in ("Exempt", "Limited") and is_exempt != (name == "exempt"):
        found.invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'")
    _check_fixed(found, name or "", spec)
    match kind:
        case "Exempt":
            if spec.get("limited") is not None:
                found.forbid("spec.limited", "must be nil if the type is not Limited")
        case "Limited":
            limited = spec.get("limited")
            if limited is None:
                found.require("spec.limited", None)
            else:
                _check_limited(found, "spec.limited", limited)
        case "":
            found.require("spec.type", kind)
        case _:
            found.one_of("spec.type", kind, ("Exempt", "Limited"))
    return found


def _check_fixed(found: Findings, name: str, spec: Json) -> None:
    fixed = fixed_specs(LEVEL_KIND).get(name)
    if fixed is None:
        return
    but = ""
    if "exempt" in fixed:
        fixed = {key: value for key, value in fixed.items() if key != "exempt"}
        but = " except the 'spec.exempt' field"
        if {key: value for key, value in spec.items() if key != "exempt"} == fixed:
            return
    elif spec == fixed:
        return
    found.invalid("spec", _as_go(spec), f"spec of '{name}'{but} must equal the fixed value")


def _as_go(spec: Json) -> JsonObject:
    """The fields of Kubernetes' own type, which its message prints."""
    limited, exempt = spec.get("limited"), spec.get("exempt")
    response = (limited or {}).get("limitResponse") or {}
    queuing = response.get("queuing")
    return {
        "Type": spec.get("type") or "",
        "Limited": limited
        and {
            "NominalConcurrencyShares": limited.get("nominalConcurrencyShares"),
            "LimitResponse": {
                "Type": response.get("type") or "",
                "Queuing": queuing
                and {
                    "Queues": queuing.get("queues"),
                    "HandSize": queuing.get("handSize"),
                    "QueueLengthLimit": queuing.get("queueLengthLimit"),
                },
            },
            "LendablePercent": limited.get("lendablePercent"),
            "BorrowingLimitPercent": limited.get("borrowingLimitPercent"),
        },
        "Exempt": exempt
        and {
            "NominalConcurrencyShares": exempt.get("nominalConcurrencyShares"),
            "LendablePercent": exempt.get("lendablePercent"),
        },
    }


def _check_limited(found: Findings, at: str, limited: Json) -> None:
    shares = limited.get("nominalConcurrencyShares") or 0
    if shares < 0:
        found.invalid(f"{at}.nominalConcurrencyShares", shares, "must be a non-negative integer")
    response = limited.get("limitResponse") or {}
    where, queuing = f"{at}.limitResponse.queuing", response.get("queuing")
    match response.get("type"):
        case "Reject":
            if queuing is not None:
                found.append(FieldError(where, Reason.FORBIDDEN, "Forbidden"))
        case "Queue":
            if queuing is None:
                found.require(where, None)
            else:
                _check_queuing(found, where, queuing)
        case other:
            found.one_of(f"{at}.limitResponse.type", other or "", ("Queue", "Reject"))
    percent = limited.get("lendablePercent") or 0
    if not 0 <= percent <= 100:
        found.invalid(f"{at}.lendablePercent", percent, "must be between 0 and 100, inclusive")


def _check_queuing(found: Findings, at: str, queuing: Json) -> None:
    for key in ("queueLengthLimit", "queues", "handSize"):
        if (queuing.get(key) or 0) <= 0:
            found.invalid(f"{at}.{key}", queuing.get(key) or 0, "must be positive")
    hand, queues = queuing.get("handSize") or 0, queuing.get("queues") or 0
    if queues > _QUEUES_MAX:
        found.invalid(f"{at}.queues", queues, f"must not be greater than {_QUEUES_MAX}")
    if hand > queues:
        found.invalid(f"{at}.handSize", hand, f"should not be greater than queues ({queues})")


def _fill(obj: Json, now: float) -> Cells:
    spec = obj.get("spec") or {}
    limited = spec.get("limited") or {}  # the shares of an exempt level are not shown
    shares = limited.get("nominalConcurrencyShares")
    queuing = (limited.get("limitResponse") or {}).get("queuing")
    queues = [queuing.get(key) for key in _QUEUING] if queuing else ["<none>"] * len(_QUEUING)
    return [
        name_of(obj),
        spec.get("type", ""),
        "<none>" if shares is None else shares,
        *queues,
        age(obj, now),
    ]


_QUEUING = ("queues", "handSize", "queueLengthLimit")

_PRINTER = Printer.of(
    _fill, "Name", "Type", "NominalConcurrencyShares", "Queues", "HandSize", "QueueLengthLimit",
    "Age",
)  # fmt: skip


RESOURCES = (
    Resource(
        names=Names.of(
            "flowcontrol.apiserver.k8s.io",
            "v1",
            "PriorityLevelConfiguration",
            "prioritylevelconfigurations",
        ),
        namespaced=False,
        has_status=True,
        lifecycle=Lifecycle(generation=Generation(), status_keeps_metadata=True),
        rules=Rules(default=_default, validate=_validate),
        printer=_PRINTER,
    ),
)
