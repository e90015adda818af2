"""The versions of a definition: names, schemas, columns, subresources, conversion.

What is the same in all versions is reported where it stood before there were several versions
(spec/server §12): ``spec.validation``, ``spec.subresources``, ``spec.additionalPrinterColumns``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.values import names
from proreus.server.custom.conversion_rules import conversion_violations
from proreus.server.custom.default_rules import default_violations
from proreus.server.custom.schema_rules import SIMPLE_PATH, schema_violations
from proreus.server.custom.structural import parse, parsed

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE_MAX = 8
Spec = Mapping[str, Any]


def versions_violations(spec: Spec) -> tuple[list[FieldError], list[FieldError]]:
    """Those told before the names, and those told after them."""
    versions = spec.get("versions")
    given: Sequence[Mapping[str, Any]] = versions or ()
    early: list[FieldError] = []
    for index, version in enumerate(given):
        early += _name_violations(version.get("name") or "", f"spec.versions[{index}].name")
        if version.get("deprecationWarning") is not None and not version.get("deprecated"):
            early.append(
                field_error.invalid(
                    f"spec.versions[{index}].deprecationWarning",
                    version["deprecationWarning"],
                    "can only be set for deprecated versions",
                )
            )
    told = [version.get("name") for version in given]
    if len(set(told)) < len(told):
        early.append(
            field_error.invalid("spec.versions", versions, "must contain unique version names")
        )
    if sum(bool(version.get("storage")) for version in given) != 1:
        early.append(
            field_error.invalid(
                "spec.versions",
                versions,
                "must have exactly one version marked as storage version",
            )
        )
    if given:
        early += _name_violations(given[0].get("name") or "", "spec.version")
    late: list[FieldError] = []
    for index, version in enumerate(given):
        late += _version(version, _places(given, index), index)
    return early, _once(late) + conversion_violations(spec.get("conversion") or {})


def _once(errors: list[FieldError]) -> list[FieldError]:
    return list(dict.fromkeys(errors))


def _name_violations(name: str, at: str) -> list[FieldError]:
    if not name and at == "spec.version":
        return []
    return [field_error.invalid(at, name, why) for why in names.dns_1035_label(name)]


def _places(versions: Sequence[Mapping[str, Any]], index: int) -> dict[str, str]:
    """Where the parts of a version are reported."""
    own = f"spec.versions[{index}]"
    places: dict[str, str] = {}
    for part, shared in (
        ("schema", "spec.validation"),
        ("subresources", "spec.subresources"),
        ("additionalPrinterColumns", "spec.additionalPrinterColumns"),
        ("selectableFields", "spec.selectableFields"),
    ):
        first = versions[0].get(part)
        is_shared = all(version.get(part) == first for version in versions)
        places[part] = shared if is_shared else f"{own}.{part}"
    return places


def _version(version: Mapping[str, Any], at: Mapping[str, str], index: int) -> list[FieldError]:
    found = _schema(version.get("schema"), at["schema"], index)
    found += _subresources(version.get("subresources") or {}, at["subresources"])
    for place, column in enumerate(version.get("additionalPrinterColumns") or ()):
        found += _column(column, f"{at['additionalPrinterColumns']}[{place}]")
    found += _selectable(version, at["selectableFields"])
    return found


def _schema(given: Any, at: str, index: int) -> list[FieldError]:
    schema = (given or {}).get("openAPIV3Schema")
    if not isinstance(schema, dict):
        return [
            field_error.required(
                f"spec.versions[{index}].schema.openAPIV3Schema", "schemas are required"
            )
        ]
    place = f"{at}.openAPIV3Schema"
    found = schema_violations(schema, place)
    if found:
        return found
    tree = parsed(schema)
    if tree.has_defaults:
        found += default_violations(tree, place)
    if tree.has_rules:
        from proreus.server.custom.cel.declared import rule_violations

        found += rule_violations(tree, place)
    return found


def _subresources(given: Mapping[str, Any], at: str) -> list[FieldError]:
    scale = given.get("scale")
    if scale is None:
        return []
    rules = (
        ("specReplicasPath", (".spec",), True),
        ("statusReplicasPath", (".status",), True),
        ("labelSelectorPath", (".spec", ".status"), False),
    )
    found: list[FieldError] = []
    for field, roots, is_required in rules:
        path, place = scale.get(field) or "", f"{at}.scale.{field}"
        if not path:
            found += [field_error.required(place)] if is_required else []
        elif not SIMPLE_PATH.fullmatch(path):
            text = "must be a simple json path starting with ."
            found.append(field_error.invalid(place, path, text))
        elif not any(path.startswith(f"{root}.") for root in roots):
            under = " or ".join(reversed(roots)) if len(roots) > 1 else roots[0]
            text = f"should be a json path under {under}"
            found.append(field_error.invalid(place, path, text))
    return found


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
        text = "must be a simple json path starting with ."
        found.append(field_error.invalid(f"{at}.JSONPath", path, text))
    return found


def _selectable(version: Mapping[str, Any], at: str) -> list[FieldError]:
    fields = version.get("selectableFields")
    if not fields:
        return []
    found: list[FieldError] = []
    if len(fields) > _SELECTABLE_MAX:
        found.append(field_error.too_many(at, len(fields), _SELECTABLE_MAX))
    raw = (version.get("schema") or {}).get("openAPIV3Schema")
    root = parse(raw if isinstance(raw, dict) else {})
    seen: set[str] = set()
    for index, field in enumerate(fields):
        path, place = field.get("jsonPath") or "", f"{at}[{index}].jsonPath"
        if not path:
            found.append(field_error.required(place))
            continue
        if path in seen:
            found.append(field_error.duplicate(place, path))
        seen.add(path)
        node = root
        for key in path.strip(".").split("."):
            child = node.properties.get(key)
            if child is None:
                text = "is an invalid path: must be a valid path"
                found.append(field_error.invalid(place, path, text))
                break
            node = child
        else:
            if node.type not in ("string", "integer", "boolean"):
                text = "must point to a field of type boolean, integer, or string"
                found.append(field_error.invalid(place, path, text))
    return found
