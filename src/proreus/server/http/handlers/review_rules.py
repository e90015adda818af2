"""What a review of access must hold to be answered. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.field_error import FieldError, sorted_keys
from proreus.api.selectors import FieldSelector, LabelSelector
from proreus.api.selectors.fields import FieldRequirement
from proreus.api.values import names
from proreus.server.kinds.parts.findings import Findings, items

Spec = Mapping[str, Any]
_SYNTAX = frozenset("\\,=!")  # of field selectors: no field's name has them
_RESOURCE = "spec.resourceAttributes"
# The order in which Kubernetes prints an object's metadata, and an owner in it.
_METADATA = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation",
    "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "labels",
    "annotations", "ownerReferences", "finalizers", "managedFields",
)  # fmt: skip
_OWNER = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")


def access_violations(
    spec: Spec, *, is_self: bool, namespace: str = "", metadata: Spec | None = None
) -> list[FieldError]:
    """``namespace``: the one that a LocalSubjectAccessReview is posted to; "" for other kinds."""
    found = Findings()
    resource, plain = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (resource is None) == (plain is None):
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        found.invalid("spec", _go_form(plain), why)
    if not is_self and not spec.get("user") and not spec.get("groups"):
        found.invalid("spec.user", "", "at least one of user or group must be specified")
    if resource is not None:
        _check_selectors(found, resource)
    _check_metadata(found, metadata or {}, namespace)
    if not namespace:
        return list(found)
    if resource is not None and (resource.get("namespace") or "") != namespace:
        at = f"{_RESOURCE}.namespace"
        found.invalid(at, resource.get("namespace") or "", "must match metadata.namespace")
    if plain is not None:
        why = "disallowed on this kind of request"
        found.invalid("spec.nonResourceAttributes", _go_form(plain), why)
    return list(found)


def _check_metadata(found: Findings, metadata: Spec, namespace: str) -> None:
    """A review is stored nowhere: it has no name. A namespace it has from its path."""
    given = {key: value for key, value in metadata.items() if value and key != "namespace"}
    if not given.keys() - {"managedFields"}:
        return
    if namespace:
        why = "must be empty except for namespace"
        found.invalid("metadata", _printed({**given, "namespace": namespace}), why)
    else:
        found.invalid("metadata", _printed(given), "must be empty")


def _printed(metadata: Spec) -> dict[str, Any]:
    """As Kubernetes prints what it decoded, whatever order it came in."""
    printed = {name: metadata[name] for name in _METADATA if name in metadata}
    for name in printed.keys() & {"labels", "annotations"}:
        printed[name] = sorted_keys(printed[name])
    if owners := printed.get("ownerReferences"):
        printed["ownerReferences"] = [{n: one[n] for n in _OWNER if n in one} for one in owners]
    return printed


def _go_form(plain: Spec | None) -> dict[str, str] | None:
    """As Kubernetes prints what it decoded."""
    if plain is None:
        return None
    return {"Path": plain.get("path") or "", "Verb": plain.get("verb") or ""}


def _check_selectors(found: Findings, resource: Spec) -> None:
    for name in ("fieldSelector", "labelSelector"):
        selector = resource.get(name)
        if selector is None:
            continue
        at = f"{_RESOURCE}.{name}"
        raw, requirements = selector.get("rawSelector"), selector.get("requirements")
        if raw and requirements:
            why = "may not specified at the same time as requirements"
            found.invalid(f"{at}.rawSelector", raw, why)
        if not raw:
            why = f"when {at} is specified, requirements or rawSelector is required"
            found.require(f"{at}.requirements", requirements, why)
        for where, requirement in items(requirements, f"{at}.requirements"):
            _check_requirement(found, where, requirement, is_field=name == "fieldSelector")


def _check_requirement(found: Findings, at: str, requirement: Spec, *, is_field: bool) -> None:
    """Unknown operators are left to the authorizer: newer clients may know them."""
    if is_field:
        found.require(f"{at}.key", requirement.get("key"), "must be specified")
    values = requirement.get("values") or ()
    match requirement.get("operator"):
        case "In" | "NotIn":
            why = "must be specified when `operator` is 'In' or 'NotIn'"
            found.require(f"{at}.values", values, why)
        case "Exists" | "DoesNotExist" if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.forbid(f"{at}.values", why)
        case _:
            pass
    if is_field:
        return
    found.name(f"{at}.key", requirement.get("key") or "", names.qualified_name)
    for where, value in items(values, f"{at}.values"):
        found.name(where, value, names.label_value)


def selector_fault(resource: Spec) -> str:
    """What is said of selectors that cannot be understood; access is decided without them."""
    found = []
    for name in ("fieldSelector", "labelSelector"):
        selector = resource.get(name) or {}
        requirements = selector.get("requirements") or ()
        good = [_is_understood(one, is_field=name == "fieldSelector") for one in requirements]
        if raw := selector.get("rawSelector"):
            good = [_is_parsed(raw, is_field=name == "fieldSelector")]
        if not all(good):
            partly = "partially " if any(good) else ""
            found.append(f"{_RESOURCE}.{name} {partly}ignored due to parse error")
    return "; ".join(found)


def selectors(resource: Spec) -> tuple[str, str]:
    """Those of fields and of labels in their query form, as far as they are understood."""
    fields, labels = resource.get("fieldSelector") or {}, resource.get("labelSelector") or {}
    return _field_selector(fields), _label_selector(labels)


def _field_selector(selector: Spec) -> str:
    if raw := selector.get("rawSelector"):
        return raw if _is_parsed(raw, is_field=True) else ""
    wanted = [
        FieldRequirement(
            one.get("key") or "", "=" if one["operator"] == "In" else "!=", one["values"][0]
        )
        for one in selector.get("requirements") or ()
        if _is_understood(one, is_field=True) and not _SYNTAX.intersection(one.get("key") or "")
    ]
    return str(FieldSelector(wanted))


def _label_selector(selector: Spec) -> str:
    if raw := selector.get("rawSelector"):
        return raw if _is_parsed(raw, is_field=False) else ""
    wanted = [
        one for one in selector.get("requirements") or () if _is_understood(one, is_field=False)
    ]
    return str(LabelSelector.from_object({"matchExpressions": wanted}))


def _is_understood(requirement: Spec, *, is_field: bool) -> bool:
    """Selectors of fields compare with one value."""
    operator, values = requirement.get("operator"), requirement.get("values") or ()
    if is_field:
        return operator in ("In", "NotIn") and len(values) == 1
    return operator in ("In", "NotIn", "Exists", "DoesNotExist")


def _is_parsed(raw: str, *, is_field: bool) -> bool:
    try:
        FieldSelector.parse(raw) if is_field else LabelSelector.parse(raw)
    except ValueError:
        return False
    return True
