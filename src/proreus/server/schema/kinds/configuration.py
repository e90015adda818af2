"""Config maps, secrets, service accounts."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from proreus.api import field_error, go_text
from proreus.api.field_error import FieldError
from proreus.api.values import names
from proreus.api.wire import strict_json
from proreus.server.schema.kinds.findings import Findings
from proreus.server.schema.rules import JsonObject, Rules

Json = Mapping[str, Any]
_SIZE_MAX = 1024 * 1024
_FROZEN = "field is immutable when `immutable` is set"


def _check_keys(found: Findings, at: str, content: Json | None) -> None:
    for key in sorted(content or ()):
        found.name(f"{at}[{key}]", key, names.config_key)


def _decoded_size(text: str) -> int:
    return len(text) * 3 // 4 - text.count("=", -2)


# --- config maps


def _validate_config_map(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    content, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    for key in sorted(content):
        found.name(f"data[{key}]", key, names.config_key)
        if key in binary:
            found.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    _check_keys(found, "binaryData", binary)
    size = sum(len(value.encode()) for value in content.values())
    size += sum(map(_decoded_size, binary.values()))
    if size > _SIZE_MAX:
        found.append(field_error.too_long("[]", _SIZE_MAX))
    return found


def _config_map_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    _check_frozen(found, new, old, ("data", "binaryData"))
    found.extend(_validate_config_map(new))
    return found


def _check_frozen(found: Findings, new: Json, old: Json, fields: tuple[str, ...]) -> None:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        found.forbid("immutable", _FROZEN)
    for field in fields:
        if (new.get(field) or {}) != (old.get(field) or {}):
            found.forbid(field, _FROZEN)


CONFIG_MAP = Rules(validate=_validate_config_map, validate_update=_config_map_update)


# --- secrets

_BASIC_AUTH = ("username", "password")


def _default_secret(obj: JsonObject) -> None:
    obj.setdefault("type", "Opaque")
    if (texts := obj.pop("stringData", None)) is not None and texts:
        content = obj["data"] = dict(obj.get("data") or {})
        for key, text in texts.items():
            content[key] = base64.b64encode(text.encode()).decode()


def _validate_secret(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    content = obj.get("data") or {}
    _check_keys(found, "data", content)
    if sum(map(_decoded_size, content.values())) > _SIZE_MAX:
        found.append(field_error.too_long("data", _SIZE_MAX))
    _check_secret_type(found, obj, content)
    return found


def _check_secret_type(found: Findings, obj: JsonObject, content: Json) -> None:
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
        return ""  # nobody reads it here
    except strict_json.JsonError as fault:
        return str(fault)
    if value is None or isinstance(value, dict):
        return ""
    kind = go_text.json_kind(value)
    return f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"


def _secret_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    found.immutable("type", new.get("type"), old.get("type"))
    _check_frozen(found, new, old, ("data",))
    found.extend(_validate_secret(new))
    return found


def _prepare_secret_update(new: JsonObject, old: JsonObject) -> None:
    if not new.get("type"):
        new["type"] = old.get("type")


def _secret_warnings(obj: JsonObject) -> list[str]:
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


SECRET = Rules(
    default=_default_secret,
    prepare_update=_prepare_secret_update,
    validate=_validate_secret,
    validate_update=_secret_update,
    warnings=_secret_warnings,
)
