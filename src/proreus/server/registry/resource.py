"""A resource as data: one served (group, version, plural) and everything that makes it different.

Kinds can be added and removed while the server runs, so nothing here is looked up by name in code:
built-in kinds are declared in ``builtin/``, custom ones are built from their definition.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from proreus.api.group_version import (
    GroupKind,
    GroupResource,
    GroupVersion,
    GroupVersionKind,
    GroupVersionResource,
)
from proreus.server.registry.versions import Versions
from proreus.server.schema.rules import PLAIN, Rules

STANDARD_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """``pods/status``, ``deployments/scale``. ``kind`` may live in another group version."""

    name: str
    kind: GroupVersionKind
    verbs: tuple[str, ...]


class CustomScale(Protocol):
    """How ``/scale`` of a custom kind reads and writes its objects."""

    def of(self, obj: Mapping[str, Any]) -> dict[str, Any]: ...

    def lenient(self, obj: Mapping[str, Any]) -> dict[str, Any]: ...

    def scaled(
        self, live: dict[str, Any], scale: dict[str, Any], resource: GroupResource, name: str
    ) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectableFields:
    """What ``fieldSelector`` may name besides metadata.name and metadata.namespace.

    ``read`` gives the values of one object (absent ones as ""); ``aliases`` maps an accepted
    spelling to the name used (pods: spec.host → spec.nodeName). ``exact_index`` names the field
    that watchers are indexed by (pods: spec.nodeName). ``own_table`` selects the wording of the
    error for unknown fields (spec/server §2.6). Pod certificate requests cannot be selected
    ``by_namespace``, though they have one. ``reads``: the paths ``read`` looks at, of at most
    two steps, so that no more need be decoded; none: it looks at the whole object.
    """

    names: tuple[str, ...] = ()
    read: Callable[[Mapping[str, Any]], Mapping[str, str]] = field(default=lambda _: {})
    aliases: Mapping[str, str] = field(default_factory=dict)
    exact_index: str = ""
    own_table: bool = False
    by_namespace: bool = True
    unknown_field: str = ""  # the error's own wording, {} stands for the field
    reads: tuple[str, ...] = ()


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
    tracks_generation: bool = False  # 1 when created, one more with each change of the content
    generation_starts: bool = True  # CSI drivers have none before their first change
    generation_grows: bool = True  # priority classes stay at 1
    generation_on_annotations: bool = False  # deployments
    status_only: bool = False  # a write of the status leaves all metadata as it was
    unconditional_update: bool = True  # PUT without resourceVersion overwrites
    create_on_update: bool = False
    returns_deleted: bool = False  # DELETE answers with the object instead of a Status
    graceful_delete: bool = False  # pods
    default_propagation: str = "Background"  # batch/v1 jobs: Orphan
    garbage_collected: bool = True  # may carry orphan/foregroundDeletion finalizers
    cached: bool = True  # events are served without a watch cache
    ttl_s: float | None = None
    name_rule: str = "dns-subdomain"  # or dns-label, dns-1035-label, path-segment
    deprecation_warning: str = ""  # every answer carries it
    # of custom kinds, whose definition says it
    told_verbs: tuple[str, ...] = ()  # what discovery says, if that is not all there is
    printer: Any = None  # a printer of ``views``; None: the one of the built-in kind
    scale: CustomScale | None = None  # None: spec.replicas
    refresh_before: int = 0  # what was stored up to this revision is brought up to date when read
    versions: Versions | None = None  # how a webhook converts; None: ``convert`` does
    delete: Callable[..., Awaitable[Any]] | None = None  # its own way to delete (definitions)
    # what it is called, put together once: every request asks
    group_version: GroupVersion = field(init=False)
    gvk: GroupVersionKind = field(init=False)
    gvr: GroupVersionResource = field(init=False)
    group_resource: GroupResource = field(init=False)
    group_kind: GroupKind = field(init=False)
    api_version: str = field(init=False)
    stored_gvk: GroupVersionKind = field(init=False)
    has_status: bool = field(init=False)  # as a subresource
    is_converted: bool = field(init=False)  # stored in another version than it is served in

    def __post_init__(self) -> None:
        group, version, kind = self.group, self.version, self.kind
        stored_group = group if self.storage_group is None else self.storage_group
        for name, value in (
            ("group_version", GroupVersion(group, version)),
            ("gvk", GroupVersionKind(group, version, kind)),
            ("gvr", GroupVersionResource(group, version, self.plural)),
            ("group_resource", GroupResource(group, self.plural)),
            ("group_kind", GroupKind(group, kind)),
            ("api_version", str(GroupVersion(group, version))),
            # The type of what storage keeps; another one is served only through conversion.
            ("stored_gvk", GroupVersionKind(stored_group, self.stored_version, kind)),
            ("has_status", any(sub.name == "status" for sub in self.subresources)),
            # A webhook's objects are in the served version when they get to the verbs.
            (
                "is_converted",
                (stored_group, self.stored_version) != (group, version) and self.versions is None,
            ),
        ):
            object.__setattr__(self, name, value)

    @property
    def prefix(self) -> str:
        """The storage prefix of all its objects, with a trailing slash."""
        return f"/registry/{self.storage_prefix or self.plural}/"

    @property
    def stored_version(self) -> str:
        return self.storage_version or self.version

    @property
    def kind_of_list(self) -> str:
        return self.list_kind or f"{self.kind}List"

    def subresource(self, name: str) -> Subresource | None:
        return next((s for s in self.subresources if s.name == name), None)

    def __repr__(self) -> str:
        return f"<Resource {self.group_version}/{self.plural}>"
