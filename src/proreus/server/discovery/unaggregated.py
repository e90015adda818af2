"""Unaggregated discovery: one document per group and per group version (server.md §1.2)."""

from __future__ import annotations

from typing import Any

from proreus.api.group_version import GroupVersion
from proreus.server.discovery.api_services import ApiServices
from proreus.server.discovery.document import CatalogSnapshot, CurrentSnapshot, Document
from proreus.server.discovery.storage_version import storage_version_hash
from proreus.server.registry.catalog import Catalog
from proreus.server.resource import Resource, Subresource


class UnaggregatedDiscovery:
    """``/api``, ``/apis``, ``/apis/<group>`` and the lists of resources below them."""

    def __init__(self, catalog: Catalog, api_services: ApiServices | None = None) -> None:
        self._state = CurrentSnapshot(catalog, api_services)

    def api_versions(self, server_address: str) -> Document:
        """``GET /api``. The address is the one the client reached us by."""
        return Document.of(
            {
                "kind": "APIVersions",
                "versions": ["v1"],
                "serverAddressByClientCIDRs": [
                    {"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}
                ],
            }
        )

    def groups(self) -> Document:
        """``GET /apis``."""
        served = self._state.now()
        return served.once("groups", lambda: _group_list(served))

    def group(self, name: str) -> Document | None:
        """``GET /apis/<name>``; None if no such group is served."""
        served = self._state.now()
        return served.once(("group", name), lambda: _group_document(served, name))

    def resources(self, group_version: GroupVersion) -> Document | None:
        """``GET /api/v1`` or ``/apis/<group>/<version>``, of this server's own."""
        served = self._state.now()
        return served.once(group_version, lambda: _resource_list(served, group_version))


def _group_list(served: CatalogSnapshot) -> Document:
    groups = [_group(name, versions) for name, versions in served.groups(by_service=True) if name]
    return Document.of({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})


def _group_document(served: CatalogSnapshot, name: str) -> Document | None:
    versions = dict(served.groups()).get(name)
    if versions is None or not name:
        return None
    return Document.of({"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)})


def _resource_list(served: CatalogSnapshot, group_version: GroupVersion) -> Document | None:
    found = served.of(group_version)
    if not found:
        return None
    # A custom kind's subresources come in the order in which Kubernetes looks for them.
    by_name = sorted(found, key=lambda resource: resource.plural)
    entries = [entry for resource in by_name for entry in _entries(resource)]
    if not any(resource.custom for resource in found):
        entries.sort(key=lambda entry: str(entry["name"]))
    head = {"kind": "APIResourceList"}
    if group_version.group:
        head["apiVersion"] = "v1"
    return Document.of(
        {
            **head,
            "groupVersion": str(group_version),
            "resources": entries,
        }
    )


def _group(name: str, versions: list[str]) -> dict[str, Any]:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _entries(resource: Resource) -> list[dict[str, Any]]:
    entry: dict[str, Any] = {
        "name": resource.plural,
        "singularName": resource.names.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.discovery_verbs),
    }
    if resource.names.short_names:
        entry["shortNames"] = list(resource.names.short_names)
    if resource.names.categories:
        entry["categories"] = list(resource.names.categories)
    if stored := storage_version_hash(resource):
        entry["storageVersionHash"] = stored
    return [entry, *(_subresource(resource, sub) for sub in resource.subresources)]


def _subresource(resource: Resource, sub: Subresource) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": f"{resource.plural}/{sub.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": sub.kind.kind,
        "verbs": list(sub.verbs),
    }
    if sub.kind.group_version != resource.group_version:
        entry |= {"group": sub.kind.group, "version": sub.kind.version}
    return entry
