"""An action as a SubjectAccessReview, which a webhook is asked, and its answer as a verdict.

Pure. Fields are in the order kube-apiserver writes them; what is empty is left out.
"""

from __future__ import annotations

from proreus.api.json_types import JsonObject
from proreus.api.selectors import FieldSelector, LabelSelector
from proreus.api.selectors.labels import LabelOperator, LabelRequirement
from proreus.server.authz.authorizer import Action, Decision, Verdict
from proreus.server.webhooks.client import CallRejected

V1, V1BETA1 = "v1", "v1beta1"
VERSIONS = (V1, V1BETA1)
# How much of what a requester chose may be remembered: more would be an attack on the memory.
_REMEMBERED_CHARS_MAX = 10_000
_OPERATORS = {
    LabelOperator.EQUALS: "In",
    LabelOperator.DOUBLE_EQUALS: "In",
    LabelOperator.IN: "In",
    LabelOperator.NOT_EQUALS: "NotIn",
    LabelOperator.NOT_IN: "NotIn",
    LabelOperator.EXISTS: "Exists",
    LabelOperator.DOES_NOT_EXIST: "DoesNotExist",
}


def review_spec(action: Action) -> JsonObject:
    """The spec in its version v1."""
    user = action.user
    spec: JsonObject = {}
    if action.path:
        spec["nonResourceAttributes"] = _without_empty({"path": action.path, "verb": action.verb})
    else:
        spec["resourceAttributes"] = _resource_attributes(action)
    extra = {key: list(user.extra[key]) for key in sorted(user.extra)}
    identity = {"user": user.name, "groups": list(user.groups), "extra": extra, "uid": user.uid}
    return spec | _without_empty(identity)


def subject_access_review(spec: JsonObject, version: str) -> JsonObject:
    if version == V1BETA1 and "groups" in spec:
        spec = {"group" if name == "groups" else name: spec[name] for name in spec}
    return {
        "kind": "SubjectAccessReview",
        "apiVersion": f"authorization.k8s.io/{version}",
        "metadata": {},
        "spec": spec,
        "status": {"allowed": False},
    }


def verdict_of(status: JsonObject) -> Verdict:
    """Raises CallRejected for what is no status."""
    is_allowed, is_denied = status.get("allowed") or False, status.get("denied") or False
    reason = status.get("reason") or ""
    is_well_typed = isinstance(is_allowed, bool) and isinstance(is_denied, bool)
    if not is_well_typed or not isinstance(reason, str):
        raise CallRejected("the status of the webhook's answer has a field of another type")
    if is_allowed and is_denied:
        both = "webhook subject access review returned both allow and deny response"
        return Verdict(Decision.DENY, reason, both)
    if is_denied:
        return Verdict(Decision.DENY, reason)
    return Verdict(Decision.ALLOW if is_allowed else Decision.NO_OPINION, reason)


def may_be_remembered(action: Action) -> bool:
    chosen = (
        action.namespace, action.verb, action.group, action.version, action.resource,
        action.subresource, action.name, action.path,
    )  # fmt: skip
    selectors = len(action.field_selector) + len(action.label_selector)
    return sum(map(len, chosen)) + selectors < _REMEMBERED_CHARS_MAX


def _resource_attributes(action: Action) -> JsonObject:
    attributes: JsonObject = _without_empty(
        {
            "namespace": action.namespace,
            "verb": action.verb,
            "group": action.group,
            "version": action.version,
            "resource": action.resource,
            "subresource": action.subresource,
            "name": action.name,
        }
    )
    if action.field_selector and (wanted := _field_requirements(action.field_selector)):
        attributes["fieldSelector"] = {"requirements": wanted}
    if action.label_selector and (wanted := _label_requirements(action.label_selector)):
        attributes["labelSelector"] = {"requirements": wanted}
    return attributes


def _field_requirements(text: str) -> list[JsonObject]:
    """None of a selector that is not understood: without it, more is asked for."""
    try:
        selector = FieldSelector.parse(text)
    except ValueError:
        return []
    return [
        {
            "key": each.field,
            "operator": "In" if each.operator == "=" else "NotIn",
            "values": [each.value],
        }
        for each in selector.requirements
    ]


def _label_requirements(text: str) -> list[JsonObject]:
    """Those that a review can say: comparisons of numbers are left out."""
    try:
        selector = LabelSelector.parse(text)
    except ValueError:
        return []
    return [_label(each) for each in selector.requirements if each.operator in _OPERATORS]


def _label(requirement: LabelRequirement) -> JsonObject:
    wire = {"key": requirement.key, "operator": _OPERATORS[requirement.operator]}
    return wire | _without_empty({"values": list(requirement.values)})


def _without_empty(values: JsonObject) -> JsonObject:
    return {name: value for name, value in values.items() if value}
