"""Names for decoded JSON objects in annotations: one that is only read, one that may be changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Json: TypeAlias = Mapping[str, Any]
JsonObject: TypeAlias = dict[str, Any]
