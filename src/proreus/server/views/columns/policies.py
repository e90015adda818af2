"""Disruption budgets, admission configuration, flow control."""

from __future__ import annotations

from typing import Any

from proreus.server.views.columns.cells import UNSET, Object, age, condition, name_of, number
from proreus.server.views.columns.printer import Cells, Fill, Printer, columns

_NOT_SET = "N/A"


def _fill_budget(obj: Object, now: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return [
        name_of(obj),
        _or_not_set(spec.get("minAvailable")),
        _or_not_set(spec.get("maxUnavailable")),
        number(status.get("disruptionsAllowed")),
        age(obj, now),
    ]


def _or_not_set(value: Any) -> str:
    return _NOT_SET if value is None else str(value)


def _fill_webhooks(obj: Object, now: float) -> Cells:
    return [name_of(obj), len(obj.get("webhooks") or ()), age(obj, now)]


def _fill_policy(counted: str) -> Fill:
    def fill(obj: Object, now: float) -> Cells:
        spec = obj.get("spec") or {}
        kind = spec.get("paramKind")
        text = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET
        return [name_of(obj), len(spec.get(counted) or ()), text, age(obj, now)]

    return fill


def _fill_policy_binding(obj: Object, now: float) -> Cells:
    spec = obj.get("spec") or {}
    return [name_of(obj), spec.get("policyName", ""), _parameters(spec), age(obj, now)]


def _parameters(spec: Object) -> str:
    ref = spec.get("paramRef") or {}
    if ref.get("name"):
        return f"{ref.get('namespace') or '*'}/{ref['name']}"
    chosen = ref.get("selector")
    return UNSET if chosen is None else _selector_in_go(chosen)


def _selector_in_go(chosen: Object) -> str:
    """The way Go prints its selectors; Kubernetes does not write this one as people do."""
    labels = chosen.get("matchLabels") or {}
    pairs = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    terms = "".join(
        f"LabelSelectorRequirement{{Key:{term.get('key', '')},Operator:{term.get('operator', '')},"
        f"Values:[{' '.join(term.get('values') or ())}],}},"
        for term in chosen.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{terms}}},}}"
    )


def _fill_flow_schema(obj: Object, now: float) -> Cells:
    spec = obj.get("spec") or {}
    dangling = condition(obj, "Dangling")
    method = spec.get("distinguisherMethod")
    return [
        name_of(obj),
        (spec.get("priorityLevelConfiguration") or {}).get("name", ""),
        number(spec.get("matchingPrecedence")),
        method.get("type", "") if method else "<none>",
        age(obj, now),
        "?" if dangling is None else str(dangling.get("status", "")),
    ]


def _by_precedence(obj: Object) -> tuple[int, str]:
    return number((obj.get("spec") or {}).get("matchingPrecedence")), name_of(obj)


def _fill_priority_level(obj: Object, now: float) -> Cells:
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
_ADMISSION = "admissionregistration.k8s.io"
_FLOW = "flowcontrol.apiserver.k8s.io"
_WEBHOOKS = Printer(columns("Name", "Webhooks:integer", "Age"), _fill_webhooks)
_BINDINGS = Printer(columns("Name", "PolicyName", "ParamRef", "Age"), _fill_policy_binding)

PRINTERS: dict[tuple[str, str], Printer] = {
    ("policy", "PodDisruptionBudget"): Printer(
        columns("Name", "Min Available", "Max Unavailable", "Allowed Disruptions:integer", "Age"),
        _fill_budget,
    ),
    (_ADMISSION, "MutatingWebhookConfiguration"): _WEBHOOKS,
    (_ADMISSION, "ValidatingWebhookConfiguration"): _WEBHOOKS,
    (_ADMISSION, "ValidatingAdmissionPolicy"): Printer(
        columns("Name", "Validations:integer", "ParamKind", "Age"), _fill_policy("validations")
    ),
    (_ADMISSION, "MutatingAdmissionPolicy"): Printer(
        columns("Name", "Mutations:integer", "ParamKind", "Age"), _fill_policy("mutations")
    ),
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): _BINDINGS,
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): _BINDINGS,
    (_FLOW, "FlowSchema"): Printer(
        columns(
            "Name", "PriorityLevel", "MatchingPrecedence", "DistinguisherMethod", "Age",
            "MissingPL",
        ),
        _fill_flow_schema,
        order=_by_precedence,
    ),
    (_FLOW, "PriorityLevelConfiguration"): Printer(
        columns(
            "Name", "Type", "NominalConcurrencyShares", "Queues", "HandSize", "QueueLengthLimit",
            "Age",
        ),
        _fill_priority_level,
    ),
}  # fmt: skip
