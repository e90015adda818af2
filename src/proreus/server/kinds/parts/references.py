"""References to an object in the same namespace or of the cluster."""

from __future__ import annotations

from proreus.api.json_types import Json
from proreus.api.values import names
from proreus.server.kinds.parts.findings import Findings


def check_reference(found: Findings, at: str, reference: Json) -> None:
    found.name(f"{at}.apiGroup", reference.get("apiGroup"))
    for key in ("kind", "name"):
        found.required_name(f"{at}.{key}", reference.get(key), names.path_segment)
