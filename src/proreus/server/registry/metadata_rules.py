"""What must hold of any object's metadata (server.md §6.1, §6.2). Returns every violation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import Faults, FieldError, collect_faults
from proreus.api.finalizers import FOREGROUND, ORPHAN
from proreus.api.values import names
from proreus.server.resource import NameRule, Resource

_ANNOTATION_BYTES_MAX = 256 * 1024
_LABEL_KEY_MAX = 253 + 1 + 63
_LABEL_VALUE_MAX = 63
_STANDARD_FINALIZERS = (ORPHAN, FOREGROUND, "kubernetes")
# Of these, Kubernetes validates metadata by its general rules alone, not by those of its own kinds.
_PLAINLY_VALIDATED_GROUPS = frozenset((
    "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io",
    "coordination.k8s.io", "policy",
))  # fmt: skip
_DEFINITIONS = "apiextensions.k8s.io"
NonOwners = frozenset[tuple[str, str]]  # apiVersion and kind of what may own nothing


def violations(
    metadata: Mapping[str, Any], resource: Resource, non_owners: NonOwners
) -> list[FieldError]:
    return collect_faults(lambda: _violations(metadata, resource, non_owners))


def update_violations(
    metadata: Mapping[str, Any], old: Mapping[str, Any], resource: Resource, non_owners: NonOwners
) -> list[FieldError]:
    if resource.names.group == _DEFINITIONS:
        found, of_kind = custom_update_violations(metadata, old, resource, non_owners)
        return found + of_kind
    return collect_faults(lambda: _update_violations(metadata, old, resource, non_owners))


def _violations(
    metadata: Mapping[str, Any], resource: Resource, non_owners: NonOwners
) -> list[FieldError]:
    found = Faults(_name_violations(metadata, resource))
    if isinstance(generation := metadata.get("generation"), int) and generation < 0:
        found.append(
            field_error.invalid(
                "metadata.generation", generation, "must be greater than or equal to 0"
            )
        )
    _add_content_violations(found, metadata, resource, non_owners)
    return found


def _update_violations(
    metadata: Mapping[str, Any], old: Mapping[str, Any], resource: Resource, non_owners: NonOwners
) -> list[FieldError]:
    found = _change_violations(metadata, old)
    _add_content_violations(found, metadata, resource, non_owners)
    return found


def custom_update_violations(
    metadata: Mapping[str, Any], old: Mapping[str, Any], resource: Resource, non_owners: NonOwners
) -> tuple[list[FieldError], list[FieldError]]:
    """Of an object of a custom kind, or a definition: what all updates are checked for, and then
    those of its kind.

    Kubernetes checks the first as a new object and as a changed one, and the second as a changed
    one again, which its names of finalizers are not checked as. Each check reports all it finds.
    """
    content = collect_faults(lambda: _with_content_violations(Faults(), metadata, non_owners))
    changes = collect_faults(lambda: _change_violations(metadata, old)) + content
    prefixes: list[FieldError] = []
    if prefix := metadata.get("generateName"):
        prefixes = [
            field_error.invalid("metadata.generateName", prefix, why)
            for why in names.path_segment(_as_name(prefix, names.path_segment))
        ]
    if finalizers := metadata.get("finalizers"):
        content = content + collect_faults(lambda: _finalizer_violations(finalizers, resource))
    return prefixes + content + changes, changes


def _change_violations(metadata: Mapping[str, Any], old: Mapping[str, Any]) -> Faults:
    found = Faults()
    if old.get("deletionTimestamp"):
        before = set(old.get("finalizers") or ())
        added = [name for name in metadata.get("finalizers") or () if name not in before]
        if added:
            listed = ", ".join(field_error.quote(name) for name in sorted(added))
            found.append(
                field_error.forbidden(
                    "metadata.finalizers",
                    "no new finalizers can be added if the object is being deleted, "
                    f"found new finalizers []string{{{listed}}}",
                )
            )
    generation = metadata.get("generation") or 0
    if generation < (old.get("generation") or 0):
        found.append(
            field_error.invalid("metadata.generation", generation, "must not be decremented")
        )
    for name in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
                 "deletionGracePeriodSeconds"):  # fmt: skip
        if metadata.get(name) != old.get(name):
            found.append(
                field_error.invalid(f"metadata.{name}", metadata.get(name), "field is immutable")
            )
    return found


def _add_content_violations(
    found: Faults, metadata: Mapping[str, Any], resource: Resource, non_owners: NonOwners
) -> None:
    """Of what a create and an update must keep to alike. Most objects have but some of these."""
    _with_content_violations(found, metadata, non_owners)
    if finalizers := metadata.get("finalizers"):
        found += _finalizer_violations(finalizers, resource)


def _with_content_violations(
    found: Faults, metadata: Mapping[str, Any], non_owners: NonOwners
) -> Faults:
    """``found``, to which they are added: a list of their own for each write would cost more."""
    if labels := metadata.get("labels"):
        found += label_violations(labels, "metadata.labels")
    if annotations := metadata.get("annotations"):
        found += annotation_violations(annotations, "metadata.annotations")
    if owners := metadata.get("ownerReferences"):
        found += owner_violations(owners, non_owners)
    return found


def label_violations(labels: Mapping[str, str], field: str) -> list[FieldError]:
    try:
        if all(map(_is_good_label, labels, labels.values())):
            return []
    except _LongLabel:
        pass
    found = Faults()
    for key in sorted(labels):
        found += [field_error.invalid(field, key, why) for why in names.qualified_name(key)]
        value = labels[key]
        found += [field_error.invalid(field, value, why) for why in names.label_value(value)]
    return found


class _LongLabel(Exception):
    """Too long for a label, and to be remembered."""


@lru_cache(maxsize=8192)  # labels repeat from object to object
def _is_good_label(key: str, value: str) -> bool:
    if len(key) > _LABEL_KEY_MAX or len(value) > _LABEL_VALUE_MAX:
        raise _LongLabel
    return not names.qualified_name(key) and not names.label_value(value)


def annotation_violations(annotations: Mapping[str, str], field: str) -> list[FieldError]:
    if not annotations:
        return []
    found = Faults()
    size = 0
    for key, value in annotations.items():
        for why in names.qualified_name(key.lower()):
            found.append(field_error.invalid(field, key, why))
        size += len(key) + len(value)
        if not (key.isascii() and value.isascii()):
            size += len(key.encode()) + len(value.encode()) - len(key) - len(value)
    if size > _ANNOTATION_BYTES_MAX:
        found.append(field_error.too_long(field, _ANNOTATION_BYTES_MAX))
    return found


def path_name_violation(name: str) -> str:
    """Why a name cannot stand in a path, "" if it can."""
    return next(iter(names.path_segment(name)), "")


def _name_violations(metadata: Mapping[str, Any], resource: Resource) -> list[FieldError]:
    name, prefix = metadata.get("name") or "", metadata.get("generateName") or ""
    rule = resource.name_rule
    found: list[FieldError] = []
    if prefix:
        found += [
            field_error.invalid("metadata.generateName", prefix, why)
            for why in rule(_as_name(prefix, rule))
        ]
    if not name:
        found.append(field_error.required("metadata.name", "name or generateName is required"))
    else:
        found += [field_error.invalid("metadata.name", name, why) for why in rule(name)]
    if resource.namespaced and not metadata.get("namespace"):
        found.append(field_error.required("metadata.namespace"))
    return found


def _as_name(prefix: str, rule: NameRule) -> str:
    """What Kubernetes judges for a prefix: it may end with a dash, as no name may, and the sign
    before that dash is not looked at."""
    if rule is names.path_segment:
        return f"{prefix}a"
    if len(prefix) < 2 or not prefix.endswith("-"):
        return prefix
    return f"{prefix.encode()[:-2].decode(errors='replace')}a"  # a byte, even of a longer sign


def owner_violations(
    owners: Any, non_owners: NonOwners, at: str = "metadata.ownerReferences"
) -> list[FieldError]:
    """Kubernetes names the list in all of these, not the element."""
    found = Faults()
    controller = ""
    for owner in owners:
        version, kind = owner.get("apiVersion") or "", owner.get("kind") or ""
        if not version.rpartition("/")[2] or version.count("/") > 1:
            found.append(
                field_error.invalid(f"{at}.apiVersion", version, "version must not be empty")
            )
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                found.append(field_error.invalid(f"{at}.{name}", "", "must not be empty"))
        if (version.removeprefix("/"), kind) in non_owners:
            named = version if "/" in version else f"/{version}"
            why = f"{named}, Kind={kind} is disallowed from being an owner"
            found.append(field_error.invalid(at, _rendered(owner), why))
        if owner.get("controller"):
            named = f"{kind}/{owner.get('name') or ''}"
            if controller:
                why = (
                    'Only one reference can have Controller set to true. Found "true" in '
                    f"references for {controller} and {named}"
                )
                found.append(field_error.invalid(at, [_rendered(one) for one in owners], why))
            controller = controller or named
    return found


def _rendered(owner: Mapping[str, Any]) -> dict[str, Any]:
    """The reference as Go writes it: its four strings always, in the order of the type."""
    texts = {key: owner.get(key) or "" for key in ("apiVersion", "kind", "name", "uid")}
    flags = {k: owner[k] for k in ("controller", "blockOwnerDeletion") if owner.get(k) is not None}
    return {**texts, **flags}


def _finalizer_violations(finalizers: Any, resource: Resource) -> list[FieldError]:
    field = "metadata.finalizers"
    found = finalizer_name_violations(finalizers, field)
    if not _takes_plain_finalizers(resource):
        found += (
            field_error.invalid(
                f"{field}[{index}]",
                name,
                "name is neither a standard finalizer name nor is it fully qualified",
            )
            for index, name in enumerate(finalizers)
            if "/" not in name and name not in _STANDARD_FINALIZERS
        )
    return found


def finalizer_name_violations(finalizers: Any, field: str) -> list[FieldError]:
    found = Faults(
        field_error.invalid(field, name, why)
        for name in finalizers
        for why in names.qualified_name(name)
    )
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        found.append(
            field_error.invalid(
                field,
                list(finalizers),
                "finalizer orphan and foregroundDeletion cannot be both set",
            )
        )
    return found


def _takes_plain_finalizers(resource: Resource) -> bool:
    return (
        resource.custom is not None
        or resource.group in _PLAINLY_VALIDATED_GROUPS
        or (resource.group == "" and resource.kind == "Event")
    )
