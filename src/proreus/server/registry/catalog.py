"""Every resource the server serves now, by name. Kinds come and go while it runs.

Readers hold no copies: they look up per request, or rebuild when ``generation`` has moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proreus.api.group_version import GroupVersion, GroupVersionKind, GroupVersionResource
from proreus.server.resource import Resource


class Catalog:
    """``generation`` grows with every change."""

    def __init__(self, resources: Iterable[Resource] = ()) -> None:
        self._by_name: dict[tuple[str, str, str], Resource] = {}
        self._by_kind: dict[GroupVersionKind, Resource] = {}
        self._groups: dict[str, int] = {}
        self.generation = 0
        for resource in resources:
            self._put(resource)

    def add(self, resource: Resource) -> None:
        """Serve a resource; one of the same group, version and plural is replaced."""
        self._put(resource)
        self.generation += 1

    def remove(self, gvr: GroupVersionResource) -> None:
        resource = self._by_name.pop((gvr.group, gvr.version, gvr.resource), None)
        if resource is None:
            return
        if self._by_kind.get(resource.gvk) is resource:
            del self._by_kind[resource.gvk]
        self._groups[resource.group] -= 1
        if not self._groups[resource.group]:
            del self._groups[resource.group]
        self.generation += 1

    def lookup(self, group: str, version: str, plural: str) -> Resource | None:
        return self._by_name.get((group, version, plural))

    def of_kind(self, gvk: GroupVersionKind) -> Resource | None:
        return self._by_kind.get(gvk)

    def resources(self, group_version: GroupVersion) -> list[Resource]:
        """Those of one group version, in the order they were added."""
        return [r for r in self if r.group_version == group_version]

    def group_versions(self) -> list[GroupVersion]:
        return list(dict.fromkeys(resource.group_version for resource in self))

    def has_builtin_group(self, group: str) -> bool:
        """A group of which something is built in; others answer unlike it where nothing is."""
        return group in self._groups and any(
            resource.group == group and not resource.custom for resource in self
        )

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def _put(self, resource: Resource) -> None:
        key = (resource.group, resource.version, resource.plural)
        if key not in self._by_name:
            self._groups[resource.group] = self._groups.get(resource.group, 0) + 1
        self._by_name[key] = resource
        self._by_kind[resource.gvk] = resource

    def __repr__(self) -> str:
        return f"<Catalog of {len(self)} resources in {len(self._groups)} groups>"
