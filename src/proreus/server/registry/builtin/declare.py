"""The words the tables of built-in kinds are written in: one group version, its usual subresources.

Nothing here decides anything: it only saves the tables from repeating what is the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from proreus.api.group_version import GroupVersion, GroupVersionKind
from proreus.server.registry.resource import Resource, Subresource

READ_WRITE = ("get", "patch", "update")
CREATE_ONLY = ("create",)
CONNECT = ("create", "get")
PROXY = ("create", "delete", "get", "patch", "update")
SCALE = GroupVersionKind("autoscaling", "v1", "Scale")


@dataclass(frozen=True, slots=True)
class Group:
    """One group version; ``resource`` declares a kind in it."""

    group: str
    version: str

    def kind(self, kind: str) -> GroupVersionKind:
        return GroupVersion(self.group, self.version).kind(kind)

    def resource(self, kind: str, plural: str, *, namespaced: bool, **rest: Any) -> Resource:
        """``rest`` are fields of ``Resource``; the singular is the kind in lower case."""
        singular = rest.pop("singular", kind.lower())
        status = rest.pop("status", False)
        more: tuple[Subresource, ...] = rest.pop("subresources", ())
        own = (self.sub("status", kind),) if status else ()
        return Resource(
            group=self.group,
            version=self.version,
            plural=plural,
            singular=singular,
            kind=kind,
            namespaced=namespaced,
            subresources=tuple(sorted(more + own, key=lambda sub: sub.name)),
            **rest,
        )

    def sub(self, name: str, kind: str, verbs: tuple[str, ...] = READ_WRITE) -> Subresource:
        """A subresource whose kind lives in this group version."""
        return Subresource(name=name, kind=self.kind(kind), verbs=verbs)


def scale() -> Subresource:
    return Subresource(name="scale", kind=SCALE, verbs=READ_WRITE)
