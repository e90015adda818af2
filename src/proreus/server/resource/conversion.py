"""Built-in resources that are served in another version, or group, than they are stored in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from proreus.api.group_version import GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from proreus.server.resource.resource import Resource

Convert = Callable[[JsonObject, GroupVersionKind], JsonObject]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """Between the two versions. kind and apiVersion of what is returned do not count. The input is
    not changed; parts of it may be shared with the result."""

    to_served: Callable[[JsonObject], JsonObject]
    to_stored: Callable[[JsonObject], JsonObject]


def conversion_among(resources: Iterable[Resource]) -> Convert:
    """Converts an object with kind and apiVersion. What is returned raises KeyError for a pair of
    versions that has no conversion."""
    conversions: dict[tuple[str, GroupVersionKind], Callable[[JsonObject], JsonObject]] = {}
    for resource in resources:
        if (between := resource.persistence.conversion) is not None:
            served, stored = resource.gvk, resource.stored_gvk
            conversions[stored.api_version, served] = between.to_served
            conversions[served.api_version, stored] = between.to_stored

    def convert(obj: JsonObject, to: GroupVersionKind) -> JsonObject:
        if obj["apiVersion"] == to.api_version:
            return obj
        made = conversions[obj["apiVersion"], to](obj)
        return {**made, "kind": to.kind, "apiVersion": to.api_version}

    return convert
