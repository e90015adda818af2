"""PriorityLevelConfiguration: concurrency limit and queues of a priority level."""

from __future__ import annotations

import math

from proreus.api.field_error import FieldError, Reason
from proreus.api.json_types import Json, JsonObject
from proreus.server.kinds.parts.cells import age, name_of
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.flow_control import LEVEL_KIND, check_conditions, fixed_specs
from proreus.server.resource import Cells, Generation, Lifecycle, Names, Printer, Resource, Rules

_SHARES = 30
_QUEUES_MAX = 10_000_000
_HASH_BITS = 60  # of a flow: each card of its hand takes the bits of one number of a queue
_POSITIVE = "must be positive"


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
    if is_exempt != (name == "exempt"):
        found.invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'")
    limited, exempt = spec.get("limited"), spec.get("exempt")
    if is_exempt and exempt is not None:
        _check_shares(found, "spec.exempt", exempt)
        _check_lending(found, "spec.exempt", exempt)
    elif kind == "Limited" and limited is not None:
        _check_limited(found, "spec.limited", limited)
    elif kind:
        found.one_of("spec.type", kind, ("Exempt", "Limited"))
    _check_fixed(found, name or "", spec)
    _check_declared(found, kind, limited, exempt)
    return found


def _validate_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    check_conditions(found, new)
    return found


def _check_declared(found: Findings, kind: str, limited: Json | None, exempt: Json | None) -> None:
    """What the types declare, which is checked last and refused without a word."""
    if found.require("spec.type", kind) and kind == "Limited":
        if limited is None:
            found.require("spec.limited", None)
    elif kind == "Exempt" and limited is not None:
        found.append(FieldError("spec.limited", Reason.FORBIDDEN, "Forbidden"))
    if kind == "Limited" and exempt is not None:
        found.append(FieldError("spec.exempt", Reason.FORBIDDEN, "Forbidden"))
    response = (limited or {}).get("limitResponse") or {}
    if kind != "Limited" or limited is None:
        return
    found.require("spec.limited.limitResponse.type", response.get("type"))
    where, queuing = "spec.limited.limitResponse.queuing", response.get("queuing")
    if response.get("type") == "Reject" and queuing is not None:
        found.append(FieldError(where, Reason.FORBIDDEN, "Forbidden"))
    elif response.get("type") == "Queue" and queuing is None:
        found.require(where, None)


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
    _check_shares(found, at, limited)
    response = limited.get("limitResponse") or {}
    queuing = response.get("queuing")
    match response.get("type"):
        case "Reject":
            pass
        case "Queue":
            if queuing is not None:
                _check_queuing(found, f"{at}.limitResponse.queuing", queuing)
        case str(other) if other:
            found.one_of(f"{at}.limitResponse.type", other, ("Queue", "Reject"))
    _check_lending(found, at, limited)
    borrows = limited.get("borrowingLimitPercent")
    if borrows is not None and borrows < 0:
        why = "if specified, must be a non-negative integer"
        found.invalid(f"{at}.borrowingLimitPercent", borrows, why)


def _check_shares(found: Findings, at: str, part: Json) -> None:
    shares = part.get("nominalConcurrencyShares") or 0
    if shares < 0:
        found.invalid(f"{at}.nominalConcurrencyShares", shares, "must be a non-negative integer")


def _check_lending(found: Findings, at: str, part: Json) -> None:
    percent = part.get("lendablePercent") or 0
    if not 0 <= percent <= 100:
        found.invalid(f"{at}.lendablePercent", percent, "must be between 0 and 100, inclusive")


def _check_queuing(found: Findings, at: str, queuing: Json) -> None:
    length, hand = queuing.get("queueLengthLimit") or 0, queuing.get("handSize") or 0
    queues = queuing.get("queues") or 0
    if length <= 0:
        found.invalid(f"{at}.queueLengthLimit", length, _POSITIVE)
    if queues <= 0:
        found.invalid(f"{at}.queues", queues, _POSITIVE)
    elif queues > _QUEUES_MAX:
        found.invalid(f"{at}.queues", queues, f"must not be greater than {_QUEUES_MAX}")
    if hand <= 0:
        found.invalid(f"{at}.handSize", hand, _POSITIVE)
    elif hand > queues:
        found.invalid(f"{at}.handSize", hand, f"should not be greater than queues ({queues})")
    elif math.ceil(math.log2(queues) * hand) > _HASH_BITS:
        why = (
            f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater "
            f"than {_HASH_BITS}"
        )
        found.invalid(f"{at}.handSize", hand, why)


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
        rules=Rules(default=_default, validate=_validate, validate_status=_validate_status),
        printer=_PRINTER,
    ),
)
