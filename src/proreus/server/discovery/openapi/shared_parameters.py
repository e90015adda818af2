"""Parameters of OpenAPI v2 that belong to no kind stand once, and operations refer to them.

Their names end in a hash of what they say: FNV-1 of the parameter as Go writes it. Where we say it
in our own words the hash is given with the parameter: references are those Kubernetes has.
"""

from __future__ import annotations

import base64
from typing import Any

from proreus.api.wire import json

_REF = "#/parameters/"
_GENERIC = "#/definitions/io.k8s.apimachinery"
# The name says of which kind it is; old kubectl looks for the others without following references.
_WRITTEN_OUT = frozenset({"name", "dryRun", "fieldValidation"})
_OFFSET, _PRIME, _MASK = 0xCBF29CE484222325, 0x100000001B3, 2**64 - 1


class SharedParameters:
    """Collects what ``place`` replaces by a reference."""

    def __init__(self) -> None:
        self.by_name: dict[str, dict[str, Any]] = {}

    def place(self, parameter: dict[str, Any], known_hash: str = "") -> dict[str, Any]:
        """What stands in an operation or path: a reference, unless the parameter is of a kind."""
        if not _is_shared(parameter):
            return parameter
        ending = known_hash or _hash(json.encode(parameter))
        name = f"{parameter['name']}-{ending}"
        self.by_name[name] = parameter
        return {"$ref": f"{_REF}{name}"}

    def in_order(self) -> dict[str, dict[str, Any]]:
        return dict(sorted(self.by_name.items()))


def _is_shared(parameter: dict[str, Any]) -> bool:
    if parameter["in"] == "body":
        return bool(parameter["schema"]["$ref"].startswith(_GENERIC))
    return parameter["name"] not in _WRITTEN_OUT


def _hash(content: bytes) -> str:
    state = _OFFSET
    for byte in content:
        state = state * _PRIME & _MASK ^ byte
    return base64.urlsafe_b64encode(state.to_bytes(8, "big")[:6]).decode()
