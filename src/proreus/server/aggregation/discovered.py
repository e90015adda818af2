"""What another API server says it serves: its discovery documents, read with suspicion. Pure.

Aggregated discovery is asked for; a server that does not know it answers with the list of groups,
and is asked for the version's own list of resources.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from proreus.api.group_version import GroupVersion
from proreus.api.json_types import JsonObject
from proreus.api.wire import json

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_PARAMETERS = {"g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"}
_RESOURCES_MAX = 5_000
_NO_KIND = {"group": "", "version": "", "kind": ""}


class UnreadableDiscovery(ValueError):
    """No discovery document."""


def is_aggregated(content_type: str) -> bool:
    return set(map(str.strip, content_type.split(";"))) >= _PARAMETERS


def from_aggregated(body: bytes, where: GroupVersion) -> list[JsonObject]:
    """The entries of one version, none if the server does not serve it. Raises
    UnreadableDiscovery."""
    for group in _list(_document(body, "APIGroupDiscoveryList").get("items")):
        if _object(group.get("metadata")).get("name", "") != where.group:
            continue
        for version in _list(group.get("versions")):
            if version.get("version") == where.version:
                return [_entry(one) for one in _list(version.get("resources"))[:_RESOURCES_MAX]]
    return []


def from_resource_list(body: bytes) -> list[JsonObject]:
    """Of an APIResourceList, as aggregated discovery has it. Raises UnreadableDiscovery."""
    listed = _list(_document(body, "APIResourceList").get("resources"))[:_RESOURCES_MAX]
    entries: dict[str, JsonObject] = {}
    for one in listed:
        name = _text(one.get("name"))
        if name and "/" not in name:
            scope = "Namespaced" if one.get("namespaced") else "Cluster"
            entries[name] = _entry(
                {**one, "resource": name, "scope": scope, "responseKind": _kind_of(one),
                 "singularResource": one.get("singularName")}
            )  # fmt: skip
    for one in listed:
        name, _, part = _text(one.get("name")).partition("/")
        if part and name in entries:
            sub = {"subresource": part, "responseKind": _kind_of(one), "verbs": one.get("verbs")}
            entries[name].setdefault("subresources", []).append(_subresource(sub))
    return list(entries.values())


def openapi_url(body: bytes, where: GroupVersion) -> str:
    """Where the OpenAPI v3 document of a version is, by the server's index; "" if nowhere."""
    try:
        paths = _object(_object(json.decode(body)).get("paths"))
    except ValueError:
        return ""
    key = where.path.lstrip("/")
    url = _text(_object(paths.get(key)).get("serverRelativeURL"))
    # Clients ask us for what they find here: only the document itself may be meant.
    return url if url.partition("?")[0] == f"/openapi/v3/{key}" else ""


def _document(body: bytes, kind: str) -> JsonObject:
    try:
        found = json.decode(body)
    except ValueError as error:
        raise UnreadableDiscovery("it is no JSON") from error
    if not isinstance(found, dict) or found.get("kind") != kind:
        raise UnreadableDiscovery(f"it is no {kind}")
    return found


def _entry(found: JsonObject) -> JsonObject:
    entry: JsonObject = {
        "resource": _text(found.get("resource")),
        "responseKind": _kind(found.get("responseKind")),
        "scope": _text(found.get("scope")),
        "singularResource": _text(found.get("singularResource")),
        "verbs": _texts(found.get("verbs")),
    }
    for key in ("shortNames", "categories"):
        if texts := _texts(found.get(key)):
            entry[key] = texts
    if subresources := [_subresource(one) for one in _list(found.get("subresources"))]:
        entry["subresources"] = subresources
    return entry


def _subresource(found: JsonObject) -> JsonObject:
    return {
        "subresource": _text(found.get("subresource")),
        "responseKind": _kind(found.get("responseKind")),
        "verbs": _texts(found.get("verbs")),
    }


def _kind_of(resource: JsonObject) -> JsonObject:
    return {key: resource.get(key) for key in ("group", "version", "kind")}


def _kind(found: Any) -> JsonObject:
    given = _object(found)
    return {key: _text(given.get(key)) for key in _NO_KIND}


def _object(found: Any) -> JsonObject:
    return found if isinstance(found, dict) else {}


def _list(found: Any) -> list[JsonObject]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _texts(found: Any) -> list[str]:
    items: Iterable[Any] = found if isinstance(found, list) else ()
    return [one for one in items if isinstance(one, str)]


def _text(found: Any) -> str:
    return found if isinstance(found, str) else ""
