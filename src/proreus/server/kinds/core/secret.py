"""Secret: confidential data as keys and values."""

from __future__ import annotations

import base64

from proreus.api import field_error, go_text
from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.wire import strict_json
from proreus.server.kinds.parts.cells import age, name_of
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.keyed_data import (
    SIZE_MAX,
    check_immutable,
    check_keys,
    decoded_size,
)
from proreus.server.resource import Cells, Names, Printer, Resource, Rules, at_paths

_BASIC_AUTH = ("username", "password")


def _default(obj: JsonObject) -> None:
    obj.setdefault("type", "Opaque")
    if (texts := obj.pop("stringData", None)) is not None and texts:
        content = obj["data"] = dict(obj.get("data") or {})
        for key, text in texts.items():
            content[key] = base64.b64encode(text.encode()).decode()


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    content = obj.get("data") or {}
    check_keys(found, "data", content)
    if sum(map(decoded_size, content.values())) > SIZE_MAX:
        found.append(field_error.too_long("data", SIZE_MAX))
    _check_type(found, obj, content)
    return found


def _check_type(found: Findings, obj: JsonObject, content: Json) -> None:
    match obj.get("type"):
        case "kubernetes.io/service-account-token":
            annotations = obj["metadata"].get("annotations") or {}
            key = "kubernetes.io/service-account.name"
            found.require(f"metadata.annotations[{key}]", annotations.get(key))
        case "kubernetes.io/dockercfg":
            _check_json(found, ".dockercfg", content)
        case "kubernetes.io/dockerconfigjson":
            _check_json(found, ".dockerconfigjson", content)
        case "kubernetes.io/basic-auth":
            if not any(key in content for key in _BASIC_AUTH):
                for key in _BASIC_AUTH:
                    found.require(f"data[{key}]", None)
        case "kubernetes.io/ssh-auth":
            found.require("data[ssh-privatekey]", content.get("ssh-privatekey"))
        case "kubernetes.io/tls":
            for key in ("tls.crt", "tls.key"):
                if key not in content:
                    found.require(f"data[{key}]", None)


def _check_json(found: Findings, key: str, content: Json) -> None:
    at = f"data[{key}]"
    if key not in content:
        found.require(at, None)
        return
    if why := _no_object(base64.b64decode(content[key])):
        # The content is secret: the message shows that it is there, not what it is.
        found.invalid(at, "<secret contents redacted>", why)


def _no_object(text: bytes) -> str:
    try:
        value, _ = strict_json.decode_strict(text)
    except strict_json.JsonTooDeep:
        return ""  # not read here
    except strict_json.JsonError as fault:
        return str(fault)
    if value is None or isinstance(value, dict):
        return ""
    return go_text.mistyped(value, "map[string]interface {}")


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    found.unchanged(new, old, "type")
    check_immutable(found, new, old, ("data",))
    found.extend(_validate(new))
    return found


def _keep_type(new: JsonObject, old: JsonObject) -> None:
    if not new.get("type"):
        new["type"] = old.get("type")


def _warnings(obj: JsonObject) -> list[str]:
    if obj.get("type") != "kubernetes.io/tls":
        return []
    content = obj.get("data") or {}
    certificate = base64.b64decode(content.get("tls.crt") or "")
    key = base64.b64decode(content.get("tls.key") or "")
    if b"-----BEGIN" not in certificate:
        return ["tls: failed to find any PEM data in certificate input"]
    if b"-----BEGIN" not in key:
        return ["tls: failed to find any PEM data in key input"]
    return []


def _fill(obj: Json, now: float) -> Cells:
    return [name_of(obj), obj.get("type", ""), len(obj.get("data") or ()), age(obj, now)]


RESOURCES = (
    Resource(
        names=Names.of("", "v1", "Secret", "secrets"),
        namespaced=True,
        selectable=at_paths("type"),
        rules=Rules(
            default=_default,
            prepare_update=_keep_type,
            validate=_validate,
            validate_update=_validate_update,
            warnings=_warnings,
        ),
        printer=Printer.of(_fill, "Name", "Type", "Data", "Age"),
    ),
)
