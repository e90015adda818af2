"""The versions of a definition: names, schemas, columns, subresources, conversion.

What is the same in all versions is reported where it stood before there were several versions
(server.md §12): ``spec.validation``, ``spec.subresources``, ``spec.additionalPrinterColumns``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.values import names
from proreus.lazy_dataclass import dataclass
from proreus.server.custom.definition.default_rules import default_violations
from proreus.server.custom.definition.internal_form import printed_versions
from proreus.server.custom.definition.root_rules import root_violations
from proreus.server.custom.definition.schema_rules import keyword_violations
from proreus.server.custom.definition.structural_rules import (
    structure_violations,
    unsupported_keyword,
)
from proreus.server.custom.schema.field_paths import PathFault, walk
from proreus.server.custom.schema.structural import parsed

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE_MAX = 8
_SELECTABLE_TYPES = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings "
    "with formats are allowed."
)
_SHARED_SELECTABLE = "spec.selectableFields"
# Kubernetes' own words, which say the opposite of what they mean for a single version.
_UNTYPED = "may only be set when `version.schema.openAPIV3Schema` is not included"
_SHARED_UNTYPED = "may only be set when validations.schema is included"
_WARNING_MAX = 256
_SCALE_PATHS = (
    ("specReplicasPath", (".spec",), True),
    ("statusReplicasPath", (".status",), True),
    ("labelSelectorPath", (".spec", ".status"), False),
)
_NO_PATH = "must be a simple json path starting with ."
Spec = Mapping[str, Any]
Version = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Around:
    """``typed_by``: the version whose schema says what is selected; None if there is none."""

    with_status: bool
    typed_by: Version | None


def versions_violations(spec: Spec) -> tuple[list[FieldError], list[FieldError]]:
    """Those reported before the names, and those reported after them.

    What is the same in all versions is validated with the spec, the rest with its version.
    """
    versions = spec.get("versions")
    given: Sequence[Mapping[str, Any]] = versions or ()
    early = _missing_schemas(given)
    if spec.get("preserveUnknownFields") and any(map(_has_defaults, given)):
        text = "must be false in order to use defaults in the schema"
        early.append(field_error.invalid("spec.preserveUnknownFields", True, text))
    shared = frozenset(part for part, *_ in _PARTS if _is_same(part, given))
    for index, version in enumerate(given):
        early += _name_violations(version.get("name") or "", f"spec.versions[{index}].name")
        early += _deprecation(version, f"spec.versions[{index}].deprecationWarning")
        early += _own(version, f"spec.versions[{index}]", given, shared)
    version_names = [version.get("name") for version in given]
    if len(set(version_names)) < len(version_names):
        text = "must contain unique version names"
        early.append(field_error.invalid("spec.versions", printed_versions(versions, shared), text))
    if sum(bool(version.get("storage")) for version in given) != 1:
        text = "must have exactly one version marked as storage version"
        early.append(field_error.invalid("spec.versions", printed_versions(versions, shared), text))
    if not given:
        return early, []
    early += _name_violations(given[0].get("name") or "", "spec.version")
    return early, _of_all(given, shared)


def _missing_schemas(versions: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    return [
        field_error.required(f"spec.versions[{index}].schema.openAPIV3Schema")
        for index, version in enumerate(versions)
        if not isinstance(_raw_schema(version), dict)
    ]


def _raw_schema(version: Mapping[str, Any]) -> Any:
    return (version.get("schema") or {}).get("openAPIV3Schema")


def _has_defaults(version: Mapping[str, Any]) -> bool:
    schema = _raw_schema(version)
    return isinstance(schema, dict) and parsed(schema).has_defaults


def _name_violations(name: str, at: str) -> list[FieldError]:
    if not name and at == "spec.version":
        return []
    wrong = names.dns_1035_label(name)
    return [field_error.invalid(at, name, ",".join(wrong))] if wrong else []


def _deprecation(version: Mapping[str, Any], at: str) -> list[FieldError]:
    text = version.get("deprecationWarning")
    if text is None:
        return []
    if not version.get("deprecated"):
        return [field_error.invalid_json(at, text, "can only be set for deprecated versions")]
    wrong: list[str] = []
    if len(text.encode()) > _WARNING_MAX:
        wrong.append(f"must be <= {_WARNING_MAX} characters long")
    if not text:
        wrong.append("must not be an empty string")
    odd = next((index for index, char in enumerate(text) if not char.isprintable()), None)
    if odd is not None:
        at_byte = len(text[:odd].encode())
        wrong.append(
            "must only contain printable UTF-8 characters; non-printable character found at index "
            f"{at_byte}"
        )
    return [field_error.invalid_json(at, text, why) for why in wrong]


def _own(
    version: Mapping[str, Any], at: str, versions: Sequence[Version], shared: Collection[str]
) -> list[FieldError]:
    """Of the parts in which this version differs from others."""
    # Without a schema of its own, what is selected has none either.
    typed_by = None if "schema" in shared else version
    with_status = has_status(version) or ("subresources" in shared and has_status(versions[0]))
    return [
        error
        for part, _, violations_of in _PARTS
        if part not in shared
        for error in violations_of(version, f"{at}.{part}", _Around(with_status, typed_by))
    ]


def _of_all(versions: Sequence[Version], shared: Collection[str]) -> list[FieldError]:
    """Of the parts that are the same in all versions."""
    first = versions[0]
    # A shared schema is that of status in any version.
    around = _Around(any(map(has_status, versions)), first if "schema" in shared else None)
    return [
        error
        for part, place, violations_of in _PARTS
        if part in shared
        for error in violations_of(first, place, around)
    ]


def _is_same(part: str, versions: Sequence[Version]) -> bool:
    first = versions[0].get(part) if versions else None
    if isinstance(first, list | None):  # none is as good as an empty list
        return all((other.get(part) or None) == (first or None) for other in versions)
    return all(other.get(part) == first for other in versions)


def has_status(version: Mapping[str, Any]) -> bool:
    return (version.get("subresources") or {}).get("status") is not None


def _schema(version: Version, at: str, around: _Around) -> list[FieldError]:
    schema = _raw_schema(version)
    if not isinstance(schema, dict):
        return []
    place = f"{at}.openAPIV3Schema"
    found = root_violations(schema, place) if around.with_status else []
    if schema.get("nullable"):
        text = "nullable cannot be true at the root"
        found.append(field_error.forbidden(f"{place}.nullable", text))
    structure, reason = [], unsupported_keyword(schema)
    if not reason:
        structure = structure_violations(schema, place)
        if not structure and (tree := parsed(schema)).has_defaults:
            structure += default_violations(tree, place, is_root=True)
    keywords = keyword_violations(schema, place)
    found += structure + keywords
    if reason and not found:
        return [field_error.invalid(place, "", reason)]
    if (tree := parsed(schema)).has_rules:
        from proreus.server.custom.schema.validation_rules.declared import rule_violations

        compiles = not structure and not reason
        found += rule_violations(tree, place, wrong=keywords, compiles=compiles)
    return found


def _subresources(version: Version, at: str, _: _Around) -> list[FieldError]:
    scale = (version.get("subresources") or {}).get("scale")
    if scale is None:
        return []
    found: list[FieldError] = []
    for field, roots, is_required in _SCALE_PATHS:
        path, place = scale.get(field) or "", f"{at}.scale.{field}"
        if not path:
            found += [field_error.required(place)] if is_required else []
        elif not path.startswith("."):
            found.append(field_error.invalid(place, path, _NO_PATH))
        elif not any(path.startswith(f"{root}.") for root in roots):
            under = f"either {' or '.join(roots)}" if len(roots) > 1 else roots[0]
            text = f"should be a json path under {under}"
            found.append(field_error.invalid(place, path, text))
    return found


def _columns(version: Version, at: str, _: _Around) -> list[FieldError]:
    columns = version.get("additionalPrinterColumns") or ()
    return [error for i, column in enumerate(columns) for error in _column(column, f"{at}[{i}]")]


def _column(column: Mapping[str, Any], at: str) -> list[FieldError]:
    found: list[FieldError] = []
    if not column.get("name"):
        found.append(field_error.required(f"{at}.name"))
    kind, form, path = column.get("type"), column.get("format"), column.get("jsonPath")
    types = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        found.append(field_error.required(f"{at}.type", types))
    elif kind not in _COLUMN_TYPES:
        found.append(field_error.invalid(f"{at}.type", kind, types))
    if form and form not in _COLUMN_FORMATS:
        text = f"must be one of {','.join(_COLUMN_FORMATS)}"
        found.append(field_error.invalid(f"{at}.format", form, text))
    if not path:
        found.append(field_error.required(f"{at}.JSONPath"))
    elif not path.startswith("."):
        found.append(field_error.invalid(f"{at}.JSONPath", path, _NO_PATH))
    return found


def _selectable(version: Version, at: str, around: _Around) -> list[FieldError]:
    fields, raw = version.get("selectableFields") or (), _raw_schema(around.typed_by or {})
    found: list[FieldError] = []
    if not fields:
        return found
    if not isinstance(raw, dict):
        why = _SHARED_UNTYPED if at == _SHARED_SELECTABLE else _UNTYPED
        return [field_error.invalid(at, "", why)]
    root = parsed(raw)
    seen: set[tuple[str, ...]] = set()
    for index, field in enumerate(fields):
        path, place = field.get("jsonPath") or "", f"{at}[{index}].jsonPath"
        if not path:
            found.append(field_error.required(place))
            continue
        try:
            steps, node = walk(path, root)
        except PathFault as fault:
            found.append(field_error.invalid(place, path, f"is an invalid path: {fault}"))
            continue
        if steps[:1] == ("metadata",):
            found.append(field_error.invalid(place, path, "must not point to fields in metadata"))
        if node.type not in ("string", "integer", "boolean"):
            found.append(field_error.invalid(place, path, _SELECTABLE_TYPES))
        if steps in seen:
            found.append(field_error.duplicate(place, path))
        seen.add(steps)
    if len(seen) > _SELECTABLE_MAX:
        found.append(field_error.too_many(at, len(seen), _SELECTABLE_MAX))
    return found


_PARTS: tuple[tuple[str, str, Callable[[Version, str, _Around], list[FieldError]]], ...] = (
    ("schema", "spec.validation", _schema),
    ("subresources", "spec.subresources", _subresources),
    ("additionalPrinterColumns", "spec.additionalPrinterColumns", _columns),
    ("selectableFields", _SHARED_SELECTABLE, _selectable),
)
