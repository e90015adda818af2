"""Parameters that a class of storage hands to its driver."""

from __future__ import annotations

from collections.abc import Mapping

from proreus.api import field_error
from proreus.server.kinds.parts.findings import Findings

_COUNT_MAX = 512
_SIZE_MAX = 256 * 1024


def check_parameters(found: Findings, at: str, parameters: Mapping[str, str]) -> None:
    if len(parameters) > _COUNT_MAX:
        found.append(field_error.too_long(at, _COUNT_MAX))
        return
    if "" in parameters:
        found.invalid(at, "", "field can not be empty.")
    size = sum(len(key.encode()) + len(value.encode()) for key, value in parameters.items())
    if size > _SIZE_MAX:
        found.append(field_error.too_long(at, _SIZE_MAX))
