"""Namespace: a scope for names; removed when everything in it is gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.api.values.timestamp import format_time
from proreus.server.kinds.parts.cells import age, name_of
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.resource import STANDARD_VERBS, Lifecycle, Names, Resource, Rules
from proreus.server.resource.lifecycle import ContentsFirst
from proreus.server.resource.printer import Cells, Printer
from proreus.server.resource.restore import restore_all_but
from proreus.server.resource.selectable import at_paths
from proreus.server.resource.subresource import PartialUpdate, Subresource

_NAME_LABEL = "kubernetes.io/metadata.name"
_FINALIZER = "kubernetes"
_STANDARD_FINALIZERS = (_FINALIZER, "orphan", "foregroundDeletion")


def _default(obj: JsonObject) -> None:
    if name := obj["metadata"].get("name"):
        obj["metadata"].setdefault("labels", {})[_NAME_LABEL] = name
    status = obj.setdefault("status", {})
    status["phase"] = status.get("phase") or "Active"


def _prepare(obj: JsonObject) -> None:
    _default(obj)
    obj["status"] = {"phase": "Active"}
    finalizers = obj.setdefault("spec", {}).setdefault("finalizers", [])
    if _FINALIZER not in finalizers:
        finalizers.append(_FINALIZER)


def _keep_spec(new: JsonObject, old: JsonObject) -> None:
    """Only /finalize changes the finalizers of the spec."""
    new["spec"] = old.get("spec") or {}


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    for finalizer in (obj.get("spec") or {}).get("finalizers") or ():
        _check_finalizer(found, "spec.finalizers", finalizer)
    return found


def _check_finalizer(found: Findings, at: str, name: str) -> None:
    found.name(at, name, names.qualified_name)
    if "/" not in name and name not in _STANDARD_FINALIZERS:
        found.invalid(
            at, name, "name is neither a standard finalizer name nor is it fully qualified"
        )


def _validate_finalize(new: JsonObject, _: JsonObject) -> list[FieldError]:
    found = Findings()
    for where, finalizer in items((new.get("spec") or {}).get("finalizers"), "spec.finalizers"):
        _check_finalizer(found, where, finalizer)
    return found


def _validate_status(new: JsonObject, _: JsonObject) -> list[FieldError]:
    """The phase is Terminating exactly while the namespace is being deleted."""
    found, phase = Findings(), (new.get("status") or {}).get("phase") or ""
    if new["metadata"].get("deletionTimestamp"):
        if phase != "Terminating":
            why = "may only be 'Terminating' if `deletionTimestamp` is not empty"
            found.invalid("status.Phase", phase, why)
    elif phase != "Active":
        why = "may only be 'Active' if `deletionTimestamp` is empty"
        found.invalid("status.Phase", phase, why)
    return found


_FINALIZE = PartialUpdate(
    reset=lambda new, old: restore_all_but(new, old, "spec", "finalizers"),
    validate=_validate_finalize,
)


def _has_finalizers(obj: Mapping[str, Any]) -> bool:
    """Finalizers of the spec hold a namespace as those of metadata do."""
    return bool((obj.get("spec") or {}).get("finalizers"))


def _mark_terminating(obj: JsonObject, now: float) -> None:
    obj["metadata"].setdefault("deletionTimestamp", format_time(now))
    obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}


_CONTENTS_FIRST = ContentsFirst(
    mark=_mark_terminating, conflict="Precondition failed", sets_policy=True
)


def _fill(obj: Json, now: float) -> Cells:
    return [name_of(obj), (obj.get("status") or {}).get("phase", ""), age(obj, now)]


_NAMES = Names.of("", "v1", "Namespace", "namespaces", "ns")

RESOURCES = (
    Resource(
        names=_NAMES,
        namespaced=False,
        verbs=tuple(verb for verb in STANDARD_VERBS if verb != "deletecollection"),
        subresources=(
            Subresource(name="finalize", kind=_NAMES.gvk, verbs=("update",), update=_FINALIZE),
        ),
        has_status=True,
        lifecycle=Lifecycle(
            returns_deleted=True, is_held=_has_finalizers, contents_first=_CONTENTS_FIRST
        ),
        selectable=at_paths("status.phase"),
        name_rule=names.dns_label,
        rules=Rules(
            default=_default,
            prepare_create=_prepare,
            prepare_update=_keep_spec,
            validate=_validate,
            validate_status=_validate_status,
        ),
        printer=Printer.of(_fill, "Name", "Status", "Age"),
    ),
)
