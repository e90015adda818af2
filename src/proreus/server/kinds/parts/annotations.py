"""Annotations, wherever they stand: in objects and in the templates of others."""

from __future__ import annotations

from collections.abc import Mapping

from proreus.api import field_error
from proreus.api.values import names
from proreus.server.kinds.parts.findings import Findings

_SIZE_MAX = 256 * 1024


def check_annotations(found: Findings, at: str, annotations: Mapping[str, str] | None) -> None:
    if not annotations:
        return
    for key in annotations:
        for why in names.qualified_name(key.lower()):
            found.invalid(at, key, why)
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > _SIZE_MAX:
        found.append(field_error.too_long(at, _SIZE_MAX))
