"""The type an object declares: its ``kind`` and ``apiVersion`` (server.md §6.1, §9.3).

Of a built-in kind, what the object leaves out is taken from the path. An object of a custom kind
has no Go type to be decoded into, so nothing is filled in: it must name its kind, and its group and
version must be those of the path. Another kind is found only by validation, since anything decodes
into an unstructured object.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from proreus.api import field_error, go_text
from proreus.api.field_error import FieldError
from proreus.api.group_version import GroupKind, GroupVersion, GroupVersionKind
from proreus.api.status import InternalError, Invalid
from proreus.lazy_dataclass import dataclass
from proreus.server.resource import Resource

PARSE_ERROR = "couldn't get version/kind; json parse error: "
_NO_OBJECT = (
    'Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)
_NULL_VERSION = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
_NO_VERSION = "Object 'apiVersion' is missing in 'object has no apiVersion field'"
_TYPE_FIELDS = ("kind", "apiVersion")
_TYPE_FIELDS_FOLDED = {field.lower(): field for field in _TYPE_FIELDS}
_USUAL_FIELDS = frozenset({*_TYPE_FIELDS, "metadata", "spec", "status", "data"})


class UnreadableType(ValueError):
    """The document is no object, or declares its type with values that are no strings."""


@dataclass(frozen=True, slots=True)
class DeclaredType:
    kind: str
    version: GroupVersion

    @property
    def gvk(self) -> GroupVersionKind:
        return self.version.kind(self.kind)

    def completed(self, expected: GroupVersionKind) -> GroupVersionKind:
        """With what is missing taken from ``expected``."""
        group, version = self.version.group, self.version.version
        if not version and group in ("", expected.group):
            group, version = expected.group, expected.version
        return GroupVersionKind(group, version, self.kind or expected.kind)


def declared_type(value: Any) -> DeclaredType:
    """Raises UnreadableType."""
    if not isinstance(value, dict):
        what = go_text.json_kind(value)
        raise UnreadableType(f"{PARSE_ERROR}json: cannot unmarshal {what} into {_NO_OBJECT}")
    kind, api_version = value.get("kind"), value.get("apiVersion")
    if not (isinstance(kind, str | None) and isinstance(api_version, str | None)):
        found = {key: value[key] for key in value if key in _TYPE_FIELDS}
        field = next(key for key in found if not isinstance(found[key], str | None))
        raise UnreadableType(
            f"{PARSE_ERROR}json: cannot unmarshal {go_text.json_kind(found[field])} into Go struct "
            f"field .{field} of type string"
        )
    return _declared(kind or "", api_version or "")


def decoded_type(value: Any) -> DeclaredType:
    """Of what is decoded into a Go type, whose keys match in any case; the last one counts.

    Raises UnreadableType.
    """
    if not isinstance(value, dict) or _USUAL_FIELDS.issuperset(value):
        return declared_type(value)
    others = _in_other_case(value)
    found: dict[str, Any] = {}
    for key, content in value.items():
        if (field := others.get(key, key)) in _TYPE_FIELDS and content is not None:
            found[field] = content
    return declared_type(found)


def _in_other_case(value: Mapping[str, Any]) -> dict[str, str]:
    """The fields of a type by how the value spells them, without those that are spelled right."""
    spelled = ((key, _TYPE_FIELDS_FOLDED.get(key.lower())) for key in value if len(key) in (4, 10))
    return {key: field for key, field in spelled if field is not None and field != key}


@lru_cache(maxsize=512)  # nearly all bodies declare one of few types
def _declared(kind: str, api_version: str) -> DeclaredType:
    if api_version.count("/") > 1:
        raise UnreadableType(f"unexpected GroupVersion string: {api_version}")
    return DeclaredType(kind, GroupVersion.parse(api_version))


def missing_kind(text: str) -> str:
    return f"Object 'Kind' is missing in '{text}'"


def null_version(value: Mapping[str, Any]) -> str:
    """What is wrong with an unstructured object whose version is null, or nothing."""
    return _NULL_VERSION if "apiVersion" in value and value["apiVersion"] is None else ""


def type_violations(obj: Mapping[str, Any], resource: Resource) -> list[FieldError]:
    """Of an object of a custom kind: its own kind, if that is another one."""
    kind = obj.get("kind")
    if not resource.custom or kind == resource.kind:
        return []
    return [field_error.invalid("kind", kind, f"must be {resource.kind}")]


def refused_as(obj: Mapping[str, Any], resource: Resource) -> GroupKind:
    """The kind that the refusal of an object names: the one it declares."""
    expected = resource.stored_gvk.group_kind
    if not resource.custom or obj.get("kind") == expected.kind:
        return expected
    return GroupKind(expected.group, str(obj.get("kind")))


def check_patched_version(obj: dict[str, Any], gvk: GroupVersionKind, *, is_status: bool) -> None:
    """Of a custom kind, whose version a patch can change. Raises InternalError, Invalid.

    Of an update of the status only the status is taken, so no other version is noticed.
    """
    if obj.get("apiVersion") == gvk.api_version:
        return
    declared = declared_type(obj)
    if not declared.version.version:
        raise InternalError.of(_NO_VERSION)
    if is_status:
        obj["apiVersion"] = gvk.api_version
        return
    wrong = [
        field_error.invalid(field, given, f"must be {wanted}")
        for field, given, wanted in (
            ("kind", declared.kind, gvk.kind),
            ("apiVersion", obj["apiVersion"], gvk.api_version),
        )
        if given != wanted
    ]
    raise Invalid.of(declared.gvk.group_kind, obj["metadata"].get("name") or "", wrong)
