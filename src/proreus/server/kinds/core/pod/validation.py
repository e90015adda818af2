"""Validation of pods, and of changes to a pod that exists."""

from __future__ import annotations

from copy import deepcopy

from proreus.api.affinity import REQUIRED
from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.api.wire import json
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.pod_template.containers import check_images_of_pod
from proreus.server.kinds.parts.pod_template.pod_annotations import (
    check_fields_match,
    check_kept_annotations,
    check_pod_annotations,
)
from proreus.server.kinds.parts.pod_template.scheduling import (
    check_tolerations,
    internal_term,
)
from proreus.server.kinds.parts.pod_template.spec import check_pod_spec
from proreus.server.resource.restore import restore

_INT32_MAX = 2**31 - 1
_MAY_CHANGE = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)"
)


def _check_pod(found: Findings, pod: Json) -> None:
    """Every rule of a pod that is not one of its templates, too."""
    spec, annotations = pod["spec"], pod["metadata"].get("annotations") or {}
    check_pod_annotations(found, "metadata.annotations", annotations, spec)
    _check_volumes(found, pod)
    check_pod_spec(found, "spec", spec)
    _check_tokens(found, spec)
    check_images_of_pod(found, "spec", spec)


def _check_tokens(found: Findings, spec: Json) -> None:
    """A token belongs to a service account; a template may still lack it."""
    if spec.get("serviceAccountName"):
        return
    for where, volume in items(spec.get("volumes"), "spec.volumes"):
        sources = (volume.get("projected") or {}).get("sources")
        for place, source in items(sources, f"{where}.projected.sources"):
            if source.get("serviceAccountToken") is not None:
                why = "must not be specified when serviceAccountName is not set"
                found.forbid(f"{place}.serviceAccountToken", why)


def _check_volumes(found: Findings, pod: Json) -> None:
    """What a template may still lack: an image's reference, and the names of claims."""
    volumes, name = pod["spec"].get("volumes"), pod["metadata"].get("name") or ""
    if not volumes:
        return
    made = {f"{name}-{one.get('name')}" for one in volumes if one.get("ephemeral") is not None}
    for where, volume in items(volumes, "spec.volumes"):
        if (image := volume.get("image")) is not None:
            found.require(f"{where}.image.reference", image.get("reference"))
        if volume.get("ephemeral") is not None and name and volume.get("name"):
            claim = f"{name}-{volume['name']}"
            for why in names.dns_subdomain(claim):
                found.invalid(f"{where}.name", volume["name"], f'PVC name "{claim}": {why}')
        used = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if name and used in made:
            why = "must not reference a PVC that gets created for an ephemeral volume"
            found.invalid(f"{where}.persistentVolumeClaim.claimName", used, why)


def validate(pod: JsonObject) -> list[FieldError]:
    found = Findings()
    spec = pod["spec"]
    _check_pod(found, pod)
    if spec.get("ephemeralContainers"):
        found.forbid("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        why = "cannot be set until all schedulingGates have been cleared"
        found.forbid("spec.nodeName", why)
    check_fields_match(found, "spec", pod["metadata"].get("annotations") or {}, spec)
    return found


def validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """What is wrong with the pod comes first, then what may not change; each once."""
    found = Findings()
    _check_pod(found, new)
    if new["spec"] == old["spec"]:  # nearly always
        check_kept_annotations(found, new, old)
        return found
    changed = _changes(new, old)
    return found + [fault for fault in changed if fault not in found] if found else changed


def _changes(new: JsonObject, old: JsonObject) -> Findings:
    found = Findings()
    check_kept_annotations(found, new, old)
    spec, before = new["spec"], old["spec"]
    for key in ("containers", "initContainers"):
        if len(spec.get(key) or ()) != len(before.get(key) or ()):
            found.forbid(f"spec.{key}", "pod updates may not add or remove containers")
            return found
    if not _check_deadline(
        found, spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    ):
        return found
    _check_added_tolerations(found, spec.get("tolerations"), before.get("tolerations"))
    _check_gates(found, spec.get("schedulingGates"), before.get("schedulingGates"))
    _check_rest(found, spec, before)
    return found


def _check_deadline(found: Findings, new: int | None, old: int | None) -> bool:
    """Whether the update is worth a further look."""
    at = "spec.activeDeadlineSeconds"
    if new is None:
        if old is not None:
            found.invalid(at, None, "must not update from a positive integer to nil value")
        return True
    if not 0 <= new <= _INT32_MAX:
        found.between(at, new, 0, _INT32_MAX)
        return False
    if old is not None and new > old:
        found.invalid(at, new, "must be less than or equal to previous value")
        return False
    return True


def _check_added_tolerations(
    found: Findings, new: list[Json] | None, old: list[Json] | None
) -> None:
    kept = {_without_seconds(toleration) for toleration in new or ()}
    if all(_without_seconds(toleration) in kept for toleration in old or ()):
        check_tolerations(found, "spec.tolerations", new)
        return
    why = "existing toleration can not be modified except its tolerationSeconds"
    found.forbid("spec.tolerations", why)


def _without_seconds(toleration: Json) -> bytes:
    return json.canonical({k: v for k, v in toleration.items() if k != "tolerationSeconds"})


def _check_gates(found: Findings, new: list[Json] | None, old: list[Json] | None) -> None:
    known = {gate.get("name") for gate in old or ()}
    for where, gate in items(new, "spec.schedulingGates"):
        if gate.get("name") not in known:
            why = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            found.forbid(f"{where}.name", why)


def _check_rest(found: Findings, spec: Json, before: Json) -> None:
    """Nothing else has changed, once what may change is as it was."""
    kept = deepcopy(dict(spec))
    for key in ("containers", "initContainers"):
        for new, old in zip(kept.get(key) or (), before.get(key) or (), strict=True):
            restore(new, old, "image")
    for key in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        restore(kept, before, key)
    was_negative = (before.get("terminationGracePeriodSeconds") or 0) < 0
    if was_negative and kept.get("terminationGracePeriodSeconds") == 1:
        restore(kept, before, "terminationGracePeriodSeconds")
    if before.get("schedulingGates"):
        _check_narrowed(found, kept, before)
    if kept != before:
        found.forbid("spec", _MAY_CHANGE)


def _check_narrowed(found: Findings, kept: JsonObject, before: Json) -> None:
    """While scheduling gates remain, the choice of nodes may be narrowed."""
    selector, had = kept.get("nodeSelector") or {}, before.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in had.items()):
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        found.invalid("spec.nodeSelector", dict(sorted(selector.items())), why)
    restore(kept, before, "nodeSelector")
    affinity = (kept.get("affinity") or {}).get("nodeAffinity")
    had_affinity = (before.get("affinity") or {}).get("nodeAffinity")
    if affinity == had_affinity:
        return
    _check_narrowed_affinity(found, affinity or {}, had_affinity or {})
    others = {k: v for k, v in (kept.get("affinity") or {}).items() if k != "nodeAffinity"}
    if had_affinity is not None:
        others["nodeAffinity"] = had_affinity
    if others or before.get("affinity") is not None:
        kept["affinity"] = others
    else:
        kept.pop("affinity", None)


def _check_narrowed_affinity(found: Findings, new: Json, old: Json) -> None:
    at = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
    terms = (new.get(REQUIRED) or {}).get("nodeSelectorTerms") or []
    had = (old.get(REQUIRED) or {}).get("nodeSelectorTerms") or []
    if had and len(had) != len(terms):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        found.invalid(at, [internal_term(term) for term in terms], why)
        return
    for (where, term), old_term in zip(items(terms, at), had, strict=False):
        if not _only_adds(term, old_term):
            why = "only additions are allowed (no mutations or deletions)"
            found.invalid(where, internal_term(term), why)


def _only_adds(new: Json, old: Json) -> bool:
    parts = ("matchExpressions", "matchFields")
    if not any(old.get(part) for part in parts) and any(new.get(part) for part in parts):
        return False  # an empty term matches no node: anything added would widen it
    return all(
        (new.get(part) or [])[: len(old.get(part) or ())] == (old.get(part) or []) for part in parts
    )
