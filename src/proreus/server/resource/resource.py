"""A resource: one served (group, version, plural) and everything that makes it different.

Kinds can be added and removed while the server runs, so nothing here is looked up by name in code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from proreus.api.group_version import (
    GroupKind,
    GroupResource,
    GroupVersion,
    GroupVersionKind,
    GroupVersionResource,
)
from proreus.api.json_types import JsonObject
from proreus.api.values.names import dns_subdomain
from proreus.lazy_dataclass import dataclass
from proreus.server.resource.custom import CustomVersion
from proreus.server.resource.lifecycle import Lifecycle
from proreus.server.resource.names import NameRule, Names
from proreus.server.resource.persistence import Persistence, Unstored
from proreus.server.resource.printer import NAME_AND_CREATION, Printer
from proreus.server.resource.rules import PLAIN, Rules
from proreus.server.resource.selectable import SelectableFields
from proreus.server.resource.subresource import READ_WRITE, Subresource
from proreus.server.resource.versions import Versions

STANDARD_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resource:
    """Equal only to itself: a resource that was replaced is another one, with other views."""

    names: Names
    namespaced: bool
    verbs: tuple[str, ...] = STANDARD_VERBS
    subresources: tuple[Subresource, ...] = ()
    has_status: bool = False  # as a subresource, which is added to the others
    persistence: Persistence = field(default_factory=Persistence)
    unstored: Unstored | None = None
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    selectable: SelectableFields = field(default_factory=SelectableFields)
    name_rule: NameRule = dns_subdomain  # what its objects may be called
    rules: Rules = PLAIN
    printer: Printer = NAME_AND_CREATION
    zero_spec: tuple[tuple[str, object], ...] = ()  # added to the schema's, in bookmarks
    deprecation_warning: str = ""  # every answer carries it
    definitions: Mapping[str, JsonObject] = field(default_factory=dict)  # not published ones
    custom: CustomVersion | None = None  # None: built in
    # Every request asks for these, so they are put together once.
    group: str = field(init=False)
    version: str = field(init=False)
    kind: str = field(init=False)
    plural: str = field(init=False)
    group_version: GroupVersion = field(init=False)
    gvk: GroupVersionKind = field(init=False)
    gvr: GroupVersionResource = field(init=False)
    group_resource: GroupResource = field(init=False)
    group_kind: GroupKind = field(init=False)
    api_version: str = field(init=False)
    stored_gvk: GroupVersionKind = field(init=False)  # the type of what storage keeps
    is_converted: bool = field(init=False)  # stored in another version than it is served in
    versions: Versions | None = field(init=False)  # of ``custom``
    refresh_before: int = field(init=False)  # of ``custom``

    def __post_init__(self) -> None:
        names, kept, custom = self.names, self.persistence, self.custom
        group, version, kind, plural = names.group, names.version, names.kind, names.plural
        stored_group = group if kept.group is None else kept.group
        stored_version = kept.version or version
        versions = custom.versions if custom is not None else None
        is_same = (stored_group, stored_version) == (group, version)
        for name, value in (
            ("group", group),
            ("version", version),
            ("kind", kind),
            ("plural", plural),
            ("group_version", names.group_version),
            ("gvk", names.gvk),
            ("gvr", GroupVersionResource(group, version, plural)),
            ("group_resource", GroupResource(group, plural)),
            ("group_kind", GroupKind(group, kind)),
            ("api_version", str(names.group_version)),
            ("stored_gvk", GroupVersionKind(stored_group, stored_version, kind)),
            # A webhook's objects are in the served version when they get to the verbs.
            ("is_converted", not is_same and versions is None),
            ("versions", versions),
            ("refresh_before", custom.refresh_before if custom is not None else 0),
            ("subresources", self._with_status()),
        ):
            object.__setattr__(self, name, value)

    def _with_status(self) -> tuple[Subresource, ...]:
        """In the order of discovery: by name; of a custom kind the status comes first."""
        if not self.has_status or self.subresource("status") is not None:
            return self.subresources
        status = Subresource(name="status", kind=self.names.gvk, verbs=READ_WRITE)
        found = (status, *self.subresources)
        return found if self.custom else tuple(sorted(found, key=lambda sub: sub.name))

    @property
    def prefix(self) -> str:
        """The storage prefix of all its objects, with a trailing slash."""
        return f"/registry/{self.store_name}/"

    @property
    def store_name(self) -> str:
        return self.persistence.prefix or self.plural

    @property
    def discovery_verbs(self) -> tuple[str, ...]:
        return (self.custom.discovery_verbs if self.custom is not None else ()) or self.verbs

    def subresource(self, name: str) -> Subresource | None:
        return next((s for s in self.subresources if s.name == name), None)

    def __repr__(self) -> str:
        return f"<Resource {self.group_version}/{self.plural}>"
