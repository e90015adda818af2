"""A resource as data: one served (group, version, plural) and everything that makes it different.

Kinds can be added and removed while the server runs, so nothing here is looked up by name in code:
built-in kinds are declared in ``builtin/``, custom ones are built from their definition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from proreus.api.group_version import (
    GroupKind,
    GroupResource,
    GroupVersion,
    GroupVersionKind,
    GroupVersionResource,
)
from proreus.server.registry.rules import PLAIN, Rules

STANDARD_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """``pods/status``, ``deployments/scale``. ``kind`` may live in another group version."""

    name: str
    kind: GroupVersionKind
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectableFields:
    """What ``fieldSelector`` may name besides metadata.name and metadata.namespace.

    ``read`` gives the values of one object (absent ones as ""); ``aliases`` maps an accepted
    spelling to the name used (pods: spec.host → spec.nodeName). ``exact_index`` names the field
    that watchers are indexed by (pods: spec.nodeName). ``own_table`` selects the wording of the
    error for unknown fields (spec/server §2.6).
    """

    names: tuple[str, ...] = ()
    read: Callable[[Mapping[str, Any]], Mapping[str, str]] = field(default=lambda _: {})
    aliases: Mapping[str, str] = field(default_factory=dict)
    exact_index: str = ""
    own_table: bool = False
    unknown_field: str = ""  # the error's own wording, {} stands for the field


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resource:
    """Equal only to itself: a resource that was replaced is another one, with other views."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool
    list_kind: str = ""  # default: kind + "List"
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = STANDARD_VERBS
    subresources: tuple[Subresource, ...] = ()
    storage_prefix: str = ""  # below /registry/; default: plural (spec/server §3.1)
    storage_version: str = ""  # the version objects are stored in; default: version
    storage_group: str | None = None  # the group they are stored in; default: group
    selectable: SelectableFields = SelectableFields()
    rules: Rules = PLAIN
    custom: bool = False  # list items carry kind and apiVersion; no strategic merge, no protobuf
    # behaviour of the verbs
    tracks_generation: bool = False
    generation_on_annotations: bool = False  # deployments
    unconditional_update: bool = True  # PUT without resourceVersion overwrites
    create_on_update: bool = False
    returns_deleted: bool = False  # DELETE answers with the object instead of a Status
    graceful_delete: bool = False  # pods
    default_propagation: str = "Background"  # batch/v1 jobs: Orphan
    garbage_collected: bool = True  # may carry orphan/foregroundDeletion finalizers
    cached: bool = True  # events are served without a watch cache
    ttl_s: float | None = None
    name_rule: str = "dns-subdomain"  # or dns-label, dns-1035-label, path-segment

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, self.kind)

    @property
    def gvr(self) -> GroupVersionResource:
        return GroupVersionResource(self.group, self.version, self.plural)

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.plural)

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @property
    def api_version(self) -> str:
        return str(self.group_version)

    @property
    def prefix(self) -> str:
        """The storage prefix of all its objects, with a trailing slash."""
        return f"/registry/{self.storage_prefix or self.plural}/"

    @property
    def stored_version(self) -> str:
        return self.storage_version or self.version

    @property
    def stored_gvk(self) -> GroupVersionKind:
        """The type of what storage keeps; another one is served only through conversion."""
        group = self.group if self.storage_group is None else self.storage_group
        return GroupVersionKind(group, self.stored_version, self.kind)

    @property
    def kind_of_list(self) -> str:
        return self.list_kind or f"{self.kind}List"

    def subresource(self, name: str) -> Subresource | None:
        return next((s for s in self.subresources if s.name == name), None)

    def __repr__(self) -> str:
        return f"<Resource {self.group_version}/{self.plural}>"
