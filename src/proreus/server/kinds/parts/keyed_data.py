"""Data under keys, as config maps and secrets have it."""

from __future__ import annotations

from proreus.api.json_types import Json
from proreus.api.values import names
from proreus.server.kinds.parts.findings import Findings

SIZE_MAX = 1024 * 1024
_FROZEN = "field is immutable when `immutable` is set"


def check_keys(found: Findings, at: str, content: Json | None) -> None:
    for key in sorted(content or ()):
        found.name(f"{at}[{key}]", key, names.config_key)


def decoded_size(text: str) -> int:
    return len(text) * 3 // 4 - text.count("=", -2)


def check_immutable(found: Findings, new: Json, old: Json, fields: tuple[str, ...]) -> None:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        found.forbid("immutable", _FROZEN)
    for field in fields:
        if (new.get(field) or {}) != (old.get(field) or {}):
            found.forbid(field, _FROZEN)
