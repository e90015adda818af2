"""``client.apps_v1.deployments``: from Python attributes to resources.

Built-in groups go by the first part of their name (``rbac_v1``, ``networking_v1``); any group goes
by its whole name with underscores (``example_com_v1``). Built-in resources need no question to the
server; others are looked up when first used. Type checkers know the built-in ones, from a stub that
the build makes (``builtin_groups.pyi``); others are had by ``Client.resource``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from proreus.api.group_version import GroupKind, GroupVersion
from proreus.client.discovery.api_resource import ApiResource
from proreus.client.discovery.cache import CachedDiscovery
from proreus.client.discovery.mapper import RestMapper, UnknownResource
from proreus.client.resources.builtin import BUILTIN
from proreus.client.resources.resource_client import ResourceClient
from proreus.client.resources.scope import Lookup, ResourceScope
from proreus.client.rest.client import RestClient

_Find = Callable[[RestMapper], ApiResource]
_ATTRIBUTE = re.compile(r"([a-z][a-z0-9_]*)_(v\d+(?:(?:alpha|beta)\d+)?)")


class ResourceLookup:
    """Names → ResourceClients, through the built-in table or discovery."""

    def __init__(self, rest: RestClient, discovery: CachedDiscovery) -> None:
        self._rest = rest
        self._discovery = discovery
        self._builtin: dict[str, ResourceClient] = {}  # never looked up again
        self._groups: dict[str, GroupClient] = {}  # as many as a program names

    def by_name(self, name: str) -> ResourceClient:
        return self._client(name, lambda mapper: mapper.by_name(name))

    def by_kind(self, api_version: str, kind: str) -> ResourceClient:
        gv = GroupVersion.parse(api_version)
        group_kind = GroupKind(gv.group, kind)
        return self._client(
            f"{kind} of {api_version}", lambda mapper: mapper.by_kind(group_kind, gv.version)
        )

    def group(self, attribute: str) -> GroupClient | None:
        """The group version an attribute names, None if it is not of that form."""
        known = self._groups.get(attribute)
        if known is None and (found := _ATTRIBUTE.fullmatch(attribute)) is not None:
            known = self._groups[attribute] = GroupClient(self, *found.groups())
        return known

    def in_group(self, group: str, version: str, plural: str) -> ResourceClient:
        """``group`` is in Python's spelling."""
        label = f"{group}_{version}.{plural}"
        if (known := self._builtin.get(label)) is not None:
            return known

        def find(mapper: RestMapper) -> ApiResource:
            name = "" if group == "core" else mapper.group_named(group, version)
            return mapper.by_resource(name, version, plural)

        found = self._client(label, find)
        if found.is_builtin:
            self._builtin[label] = found
        return found

    def _client(self, label: str, find: _Find) -> ResourceClient:
        try:
            known: ApiResource | Lookup = find(BUILTIN)
        except UnknownResource:
            known = _Remembered(self._discovery, find)
        return ResourceClient(ResourceScope(self._rest, known, label))


class GroupClient:
    """One group version; its attributes are its resources."""

    def __init__(self, lookup: ResourceLookup, group: str, version: str) -> None:
        self._lookup = lookup
        self._group = group
        self._version = version

    if not TYPE_CHECKING:  # they know the resources of ``builtin_groups``, and no others

        def __getattr__(self, plural: str) -> ResourceClient:
            if plural.startswith("_"):
                raise AttributeError(plural)
            return self._lookup.in_group(self._group, self._version, plural)

    def __repr__(self) -> str:
        return f"<GroupClient {self._group}_{self._version}>"


class _Remembered:
    """A lookup at the server, done once however many verbs follow."""

    def __init__(self, discovery: CachedDiscovery, find: _Find) -> None:
        self._discovery = discovery
        self._find = find
        self._found: ApiResource | None = None

    async def __call__(self) -> ApiResource:
        if self._found is None:
            self._found = await self._discovery.find(self._find)
        return self._found
