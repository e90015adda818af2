"""ConfigMap: configuration as keys and values."""

from __future__ import annotations

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.cells import age, name_of
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.keyed_data import (
    SIZE_MAX,
    check_immutable,
    check_keys,
    decoded_size,
)
from proreus.server.resource import Cells, Names, Printer, Resource, Rules


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    content, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    if binary or any(map(names.config_key, content)):
        for key in sorted(content):
            found.name(f"data[{key}]", key, names.config_key)
            if key in binary:
                found.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
        check_keys(found, "binaryData", binary)
    size = len("".join(content.values()).encode())
    size += sum(map(decoded_size, binary.values()))
    if size > SIZE_MAX:
        found.append(field_error.too_long("[]", SIZE_MAX))
    return found


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    check_immutable(found, new, old, ("data", "binaryData"))
    found.extend(_validate(new))
    return found


def _fill(obj: Json, now: float) -> Cells:
    count = len(obj.get("data") or ()) + len(obj.get("binaryData") or ())
    return [name_of(obj), count, age(obj, now)]


RESOURCES = (
    Resource(
        names=Names.of("", "v1", "ConfigMap", "configmaps", "cm"),
        namespaced=True,
        rules=Rules(validate=_validate, validate_update=_validate_update),
        printer=Printer.of(_fill, "Name", "Data", "Age"),
    ),
)
