"""Fields of an object as the plain JSON they are, for code that reads much of it. Pure.

A view (``api.frozen``) is an object per step, and ``to_dict`` decodes everything again. What is
given here is the object's own decoded form: it must not be changed. Parts of it may be kept, as
they keep nothing else of the object.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject


def plain_field(obj: KubeObject, name: str) -> JsonObject:
    """A field that is a mapping, as ``spec``; empty if it is not there."""
    decoded: MappingProxyType[str, Any] = obj.keys().mapping  # type: ignore[attr-defined]  # a dict's
    return decoded.get(name) or {}
