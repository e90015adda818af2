"""What only custom kinds have, because their definition says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from proreus.api.group_version import GroupResource
from proreus.lazy_dataclass import dataclass
from proreus.server.resource.versions import Versions


class Scaling(Protocol):
    """How ``/scale`` of a custom kind reads and writes its objects."""

    def of(self, obj: Mapping[str, Any]) -> dict[str, Any]: ...

    def lenient(self, obj: Mapping[str, Any]) -> dict[str, Any]: ...

    def scaled(
        self, live: dict[str, Any], scale: dict[str, Any], resource: GroupResource, name: str
    ) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomVersion:
    """One served version of a custom kind.

    Lists of it carry kind and apiVersion in each item; it has no strategic merge and no protobuf.
    """

    discovery_verbs: tuple[str, ...] = ()  # what discovery lists, if that is not all there is
    is_storage_served: bool = True  # discovery names the stored type only then
    scaling: Scaling | None = None  # None: spec.replicas
    refresh_before: int = 0  # what was stored up to this revision is brought up to date when read
    versions: Versions | None = None  # how a webhook converts; None: ``convert`` does
