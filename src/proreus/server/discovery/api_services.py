"""What API services add to discovery: priorities, and the versions that other servers serve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proreus.api.group_version import GroupVersion
from proreus.api.json_types import JsonObject
from proreus.lazy_dataclass import dataclass
from proreus.server.discovery.priorities import DiscoveryPriority


@dataclass(frozen=True, slots=True)
class RemoteVersion:
    """A group version of another server. ``resources`` are entries of aggregated discovery;
    what was found when the server last answered, if it ``is_current`` no longer."""

    resources: Sequence[JsonObject] = ()
    is_current: bool = False
    openapi_url: str = ""  # of its OpenAPI v3 document, with the hash; "": it has none


class ApiServices:
    """``generation`` grows with every change. Its only writer is ``server/aggregation``."""

    def __init__(self) -> None:
        self.generation = 0
        self._priorities: dict[GroupVersion, DiscoveryPriority] = {}
        self._remote: dict[GroupVersion, RemoteVersion] = {}

    @property
    def priorities(self) -> Mapping[GroupVersion, DiscoveryPriority]:
        return self._priorities

    @property
    def remote(self) -> Mapping[GroupVersion, RemoteVersion]:
        return self._remote

    def put(
        self, where: GroupVersion, priority: DiscoveryPriority, remote: RemoteVersion | None
    ) -> None:
        """``remote`` None: this server serves it itself."""
        if self._priorities.get(where) == priority and self._remote.get(where) == remote:
            return
        self._priorities[where] = priority
        if remote is None:
            self._remote.pop(where, None)
        else:
            self._remote[where] = remote
        self.generation += 1

    def remove(self, where: GroupVersion) -> None:
        if self._priorities.pop(where, None) is not None:
            self._remote.pop(where, None)
            self.generation += 1

    def clear(self) -> None:
        for where in list(self._priorities):
            self.remove(where)

    def __repr__(self) -> str:
        return f"<ApiServices: {len(self._priorities)}, {len(self._remote)} of other servers>"
