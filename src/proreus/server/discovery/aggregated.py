"""Aggregated discovery v2: everything in two answers, ``/api`` and ``/apis`` (server.md §1.2)."""

from __future__ import annotations

from typing import Any

from proreus.api.group_version import GroupVersion, GroupVersionKind
from proreus.server.discovery.api_services import ApiServices
from proreus.server.discovery.document import CatalogSnapshot, CurrentSnapshot, Document
from proreus.server.registry.catalog import Catalog
from proreus.server.resource import Resource


class AggregatedDiscovery:
    """The core group stands alone under ``/api``, all others under ``/apis``."""

    def __init__(self, catalog: Catalog, api_services: ApiServices | None = None) -> None:
        self._state = CurrentSnapshot(catalog, api_services)

    def core(self) -> Document:
        served = self._state.now()
        return served.once("core", lambda: _build(served, core=True))

    def groups(self) -> Document:
        served = self._state.now()
        return served.once("groups", lambda: _build(served, core=False))


def _build(served: CatalogSnapshot, *, core: bool) -> Document:
    items = [
        {
            "metadata": {"name": group} if group else {},
            "versions": [_version(served, GroupVersion(group, version)) for version in versions],
        }
        for group, versions in served.groups()
        if core == (group == "")
    ]
    return Document.of(
        {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": items,
        }
    )


def _version(served: CatalogSnapshot, group_version: GroupVersion) -> dict[str, Any]:
    remote = served.remote.get(group_version)
    if remote is not None:
        freshness = "Current" if remote.is_current else "Stale"
        found: dict[str, Any] = {"version": group_version.version, "freshness": freshness}
        return found | ({"resources": list(remote.resources)} if remote.resources else {})
    own = sorted(served.of(group_version), key=lambda resource: resource.plural)
    resources = [_resource(resource) for resource in own]
    return {"version": group_version.version, "resources": resources, "freshness": "Current"}


def _resource(resource: Resource) -> dict[str, Any]:
    home = resource.group_version
    entry: dict[str, Any] = {
        "resource": resource.plural,
        "responseKind": _kind(resource.gvk, home),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.names.singular,
        "verbs": list(resource.discovery_verbs),
    }
    if resource.names.short_names:
        entry["shortNames"] = list(resource.names.short_names)
    if resource.names.categories:
        entry["categories"] = list(resource.names.categories)
    if resource.subresources:
        entry["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": _kind(sub.kind, home),
                "verbs": list(sub.verbs),
            }
            for sub in resource.subresources
        ]
    if resource.custom:
        # Custom resources spell out where their kinds live; built-in ones leave it empty.
        entry["responseKind"] = _whole_kind(resource.gvk)
        for listed, sub in zip(entry.get("subresources", ()), resource.subresources, strict=True):
            listed["responseKind"] = _whole_kind(sub.kind)
    return entry


def _kind(gvk: GroupVersionKind, home: GroupVersion) -> dict[str, str]:
    if gvk.group_version == home:
        return {"group": "", "version": "", "kind": gvk.kind}
    return _whole_kind(gvk)


def _whole_kind(gvk: GroupVersionKind) -> dict[str, str]:
    return {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}
