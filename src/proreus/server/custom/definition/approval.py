"""The approval annotation that definitions in groups of the Kubernetes community need.

The annotation must be there when a definition is made; its content is reported in the condition
KubernetesAPIApprovalPolicyConformant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.values.urls import url_fault
from proreus.lazy_dataclass import dataclass

ANNOTATION = "api-approved.kubernetes.io"
_AT = f"metadata.annotations[{ANNOTATION}]"
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"
_PROTECTED = ("k8s.io", "kubernetes.io")


@dataclass(frozen=True, slots=True)
class Approval:
    """``reason`` and ``message`` of the condition."""

    reason: str
    message: str

    @property
    def is_conformant(self) -> bool:
        return self.reason == "ApprovedAnnotation"


def approval_of(definition: Mapping[str, Any]) -> Approval | None:
    """None for groups that need no approval."""
    group = definition["spec"].get("group") or ""
    if not any(group == name or group.endswith(f".{name}") for name in _PROTECTED):
        return None
    annotation = (definition["metadata"].get("annotations") or {}).get(ANNOTATION) or ""
    must = f'protected groups must have approval annotation "{ANNOTATION}"'
    if not annotation:
        return Approval("MissingAnnotation", f"{must}, {_SEE}")
    if annotation.startswith("unapproved"):
        return Approval("UnapprovedAnnotation", f"not approved: {field_error.quote(annotation)}")
    if _is_url(annotation):
        return Approval("ApprovedAnnotation", f"approved in {annotation}")
    either = 'with either a URL or a reason starting with "unapproved"'
    return Approval("InvalidAnnotation", f"{must} {either}, {_SEE}")


def approval_violations(new: Mapping[str, Any], old: Mapping[str, Any] | None) -> list[FieldError]:
    """What was wrong before may stay wrong in the same way."""
    found = approval_of(new)
    if found is None:
        return []
    before = approval_of(old) if old is not None else None
    if before is not None and before.reason == found.reason:
        return []
    match found.reason:
        case "MissingAnnotation":
            return [field_error.required(_AT, found.message)]
        case "InvalidAnnotation":
            annotation = new["metadata"]["annotations"][ANNOTATION]
            return [field_error.invalid(_AT, annotation, found.message)]
        case _:
            return []


def _is_url(text: str) -> bool:
    if url_fault(text):
        return False
    parts = urlsplit(text)
    return bool(parts.scheme and parts.netloc)
