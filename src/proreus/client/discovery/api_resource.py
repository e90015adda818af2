"""One served resource, as far as a client must know it to build requests."""

from __future__ import annotations

from dataclasses import dataclass

from proreus.api.group_version import GroupVersion, GroupVersionKind, GroupVersionResource


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiResource:
    """``name`` is the plural, the one in URLs. Built-in entries leave verbs to the server."""

    group: str
    version: str
    name: str
    kind: str
    namespaced: bool
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: frozenset[str] = frozenset()
    subresources: frozenset[str] = frozenset()

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def gvr(self) -> GroupVersionResource:
        return GroupVersionResource(self.group, self.version, self.name)

    @property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, self.kind)

    def __str__(self) -> str:
        return f"{self.name}.{self.group}" if self.group else self.name

    def __repr__(self) -> str:
        return f"<ApiResource {self.group_version}/{self.name} {self.kind}>"
