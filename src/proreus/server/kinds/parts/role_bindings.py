"""Role bindings: which subjects have a role, in a namespace or in the cluster."""

from __future__ import annotations

from collections.abc import Sequence

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.cells import age, name_of
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.rbac_kinds import RBAC, rbac_kind
from proreus.server.resource import Cells, Printer, Resource, Rules

_SUBJECTS = ("ServiceAccount", "User", "Group")


def _default_binding(obj: JsonObject) -> None:
    reference = obj.setdefault("roleRef", {})
    if not reference.get("apiGroup"):
        reference["apiGroup"] = RBAC
    for subject in obj.get("subjects") or ():
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = RBAC


def _check_binding(found: Findings, obj: Json, *, namespaced: bool) -> None:
    reference = obj.get("roleRef") or {}
    found.one_of("roleRef.apiGroup", reference.get("apiGroup") or "", (RBAC,))
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    found.one_of("roleRef.kind", reference.get("kind") or "", kinds)
    if reference.get("name"):
        found.name("roleRef.name", reference["name"], names.path_segment)
    for where, subject in items(obj.get("subjects"), "subjects"):
        _check_subject(found, where, subject, namespaced=namespaced)
    # What the types declare is checked after all that functions check.
    for where, subject in items(obj.get("subjects"), "subjects"):
        found.require(f"{where}.name", subject.get("name"))
    found.require("roleRef.name", reference.get("name"))


def _check_subject(found: Findings, at: str, subject: Json, *, namespaced: bool) -> None:
    name, group = subject.get("name") or "", subject.get("apiGroup") or ""
    match subject.get("kind") or "":
        case "ServiceAccount":
            if name:
                found.name(f"{at}.name", name)
            found.one_of(f"{at}.apiGroup", group, ("",))
            if not namespaced:
                found.require(f"{at}.namespace", subject.get("namespace"))
        case "User" | "Group":
            found.one_of(f"{at}.apiGroup", group, (RBAC,))
        case other:
            found.one_of(f"{at}.kind", other, _SUBJECTS)


def role_binding(kind: str, *, namespaced: bool) -> Resource:
    rules = _binding_rules(namespaced=namespaced)
    return rbac_kind(kind, namespaced=namespaced, rules=rules, printer=_PRINTER)


def _binding_rules(*, namespaced: bool) -> Rules:
    def validate(obj: JsonObject) -> list[FieldError]:
        found = Findings()
        _check_binding(found, obj, namespaced=namespaced)
        return found

    def validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = Findings(validate(new))
        if new.get("roleRef") != old.get("roleRef"):
            reference = new.get("roleRef") or {}
            printed = {
                "APIGroup": reference.get("apiGroup") or "",
                "Kind": reference.get("kind") or "",
                "Name": reference.get("name") or "",
            }
            found.invalid("roleRef", printed, "field is immutable")
        return found

    return Rules(default=_default_binding, validate=validate, validate_update=validate_update)


def _fill_binding(obj: Json, now: float) -> Cells:
    role, subjects = obj.get("roleRef") or {}, obj.get("subjects") or ()
    accounts = [
        f"{subject.get('namespace', '')}/{subject.get('name', '')}"
        for subject in subjects
        if subject.get("kind") == "ServiceAccount"
    ]
    return [
        name_of(obj),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        age(obj, now),
        _named_subjects(subjects, "User"),
        _named_subjects(subjects, "Group"),
        ", ".join(accounts),
    ]


def _named_subjects(subjects: Sequence[Json], kind: str) -> str:
    return ", ".join(s.get("name", "") for s in subjects if s.get("kind") == kind)


_PRINTER = Printer.of(_fill_binding, "Name", "Role", "Age", "Users*", "Groups*", "ServiceAccounts*")
