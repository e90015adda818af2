"""Validation of embedded resources: their type and metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.values import names
from proreus.server.custom.schema.descent import inner_values
from proreus.server.custom.schema.structural import Structural
from proreus.server.registry import metadata_rules

_NON_OWNERS = frozenset((("v1", "Event"),))
_HAS_EMBEDDED = attrgetter("has_embedded")


def embedded_violations(value: Any, schema: Structural, path: str = "") -> list[FieldError]:
    """Of what is embedded in a value, not of the value's own type and metadata."""
    return list(_violations(value, schema, path)) if schema.has_embedded else []


def _violations(value: Any, schema: Structural, path: str) -> Iterator[FieldError]:
    if schema.is_embedded and value.__class__ is dict:
        yield from _type(value, path)
        yield from _metadata(value.get("metadata"), _below(path, "metadata"))
    for item, child, place in inner_values(value, schema, path, _HAS_EMBEDDED):
        yield from _violations(item, child, place)


def _type(value: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    for field in ("apiVersion", "kind"):
        given, place = value.get(field, ""), _below(path, field)
        if not isinstance(given, str):
            yield field_error.invalid(place, given, "must be a string")
        elif not given:
            yield field_error.required(place)
        elif field == "apiVersion":
            if given.count("/") > 1:
                text = f"unexpected GroupVersion string: {given}"
                yield field_error.invalid(place, given, text)
        elif wrong := names.dns_1035_label(given.lower()):
            text = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
            yield field_error.invalid(place, given, text)


def _metadata(meta: Any, path: str) -> Iterator[FieldError]:
    if not isinstance(meta, dict):
        return
    if prefix := meta.get("generateName"):
        for why in names.path_segment(f"{prefix}a"):  # any name it may become
            yield field_error.invalid(f"{path}.generateName", prefix, why)
    if name := meta.get("name"):
        for why in names.path_segment(name):
            yield field_error.invalid(f"{path}.name", name, why)
    if namespace := meta.get("namespace"):
        for why in names.dns_label(namespace):
            yield field_error.invalid(f"{path}.namespace", namespace, why)
    if (generation := meta.get("generation") or 0) < 0:
        why = "must be greater than or equal to 0"
        yield field_error.invalid(f"{path}.generation", generation, why)
    yield from metadata_rules.label_violations(meta.get("labels") or {}, f"{path}.labels")
    annotations = meta.get("annotations") or {}
    yield from metadata_rules.annotation_violations(annotations, f"{path}.annotations")
    owners, finalizers = meta.get("ownerReferences") or (), meta.get("finalizers") or ()
    yield from metadata_rules.owner_violations(owners, _NON_OWNERS, f"{path}.ownerReferences")
    yield from metadata_rules.finalizer_name_violations(finalizers, f"{path}.finalizers")


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
