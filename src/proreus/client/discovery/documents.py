"""Discovery documents of both generations → one snapshot. Pure.

The legacy documents (APIGroupList, one APIResourceList per group version) are the common form,
because they are also what the disk cache keeps; aggregated answers are turned into them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from proreus.api.group_version import GroupVersion
from proreus.api.json_types import Json, JsonObject
from proreus.client.discovery.api_resource import ApiResource

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@dataclass(frozen=True, slots=True)
class DiscoverySnapshot:
    """All that was found, and which group versions could not be (with the reason).

    ``groups`` is an APIGroupList whose entries stand in the server's order, the core group first.
    """

    groups: JsonObject
    resources: Mapping[GroupVersion, JsonObject]
    failures: Mapping[GroupVersion, str] = field(default_factory=dict)

    def group_versions(self) -> list[GroupVersion]:
        """All versions in order of preference, group by group."""
        return [gv for group in self.groups["groups"] for gv in _versions(group)]

    def api_resources(self) -> list[ApiResource]:
        """Every resource of every version, in the order of ``group_versions``."""
        return [
            resource
            for gv in self.group_versions()
            if gv in self.resources
            for resource in read_resources(gv, self.resources[gv])
        ]


def is_aggregated(content_type: str) -> bool:
    """The answer's own word decides: old servers answer in the old form, whatever was asked."""
    _, *parameters = (part.strip() for part in content_type.split(";"))
    return {"g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"} <= set(parameters)


def from_aggregated(core: Json, named: Json) -> DiscoverySnapshot:
    """The snapshot of two aggregated answers, ``/api`` and ``/apis``."""
    groups: list[JsonObject] = []
    resources: dict[GroupVersion, JsonObject] = {}
    failures: dict[GroupVersion, str] = {}
    for item in [*(core.get("items") or ()), *(named.get("items") or ())]:
        group = (item.get("metadata") or {}).get("name", "")
        served: list[GroupVersion] = []
        for version in item.get("versions") or ():
            gv = GroupVersion(group, version["version"])
            served.append(gv)
            if version.get("freshness") == "Stale":
                failures[gv] = "the server's knowledge of it is stale"
            else:
                listed = list(_legacy_resources(gv, version))
                resources[gv] = resource_list(gv, listed)
        if served:
            groups.append(group_entry(group, served, preferred=_first_fresh(served, failures)))
    return DiscoverySnapshot(group_list(groups), resources, failures)


def read_resources(gv: GroupVersion, document: Json) -> Iterator[ApiResource]:
    """The resources of an APIResourceList, with the names of their subresources gathered."""
    entries = document.get("resources") or ()
    parts: dict[str, set[str]] = {}
    for entry in entries:
        owner, slash, part = entry["name"].partition("/")
        if slash:
            parts.setdefault(owner, set()).add(part)
    for entry in entries:
        if "/" in entry["name"]:
            continue
        yield ApiResource(
            # An entry may live in another group version than the list it stands in.
            group=entry.get("group") or gv.group,
            version=entry.get("version") or gv.version,
            name=entry["name"],
            kind=entry["kind"],
            namespaced=bool(entry.get("namespaced")),
            singular=entry.get("singularName") or entry["kind"].lower(),
            short_names=tuple(entry.get("shortNames") or ()),
            categories=tuple(entry.get("categories") or ()),
            verbs=frozenset(entry.get("verbs") or ()),
            subresources=frozenset(parts.get(entry["name"], ())),
        )


def group_list(groups: list[JsonObject]) -> JsonObject:
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group_entry(group: str, versions: list[GroupVersion], *, preferred: GroupVersion) -> JsonObject:
    return {
        "name": group,
        "versions": [_version_entry(gv) for gv in versions],
        "preferredVersion": _version_entry(preferred),
    }


def resource_list(gv: GroupVersion, resources: list[JsonObject]) -> JsonObject:
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": str(gv),
        "resources": resources,
    }


def _versions(group: Json) -> list[GroupVersion]:
    listed = [GroupVersion.parse(v["groupVersion"]) for v in group.get("versions") or ()]
    preferred = (group.get("preferredVersion") or {}).get("groupVersion", "")
    return sorted(listed, key=lambda gv: str(gv) != preferred)  # stable: the rest keeps its order


def _first_fresh(served: list[GroupVersion], failures: Mapping[GroupVersion, str]) -> GroupVersion:
    return next((gv for gv in served if gv not in failures), served[0])


def _version_entry(gv: GroupVersion) -> JsonObject:
    return {"groupVersion": str(gv), "version": gv.version}


def _legacy_resources(gv: GroupVersion, version: Json) -> Iterator[JsonObject]:
    for resource in version.get("resources") or ():
        subresources = resource.get("subresources") or ()
        namespaced = resource.get("scope") == "Namespaced"
        if kind := resource.get("responseKind"):
            yield {
                "name": resource["resource"],
                "singularName": resource.get("singularResource", ""),
                "namespaced": namespaced,
                **_kind(kind, gv),
                "verbs": resource.get("verbs") or [],
                **({"shortNames": names} if (names := resource.get("shortNames")) else {}),
                **({"categories": names} if (names := resource.get("categories")) else {}),
            }
        for part in subresources:
            if kind := part.get("responseKind"):
                yield {
                    "name": f"{resource['resource']}/{part['subresource']}",
                    "singularName": "",
                    "namespaced": namespaced,
                    **_kind(kind, gv),
                    "verbs": part.get("verbs") or [],
                }


def _kind(kind: Mapping[str, str], gv: GroupVersion) -> JsonObject:
    group, version = kind.get("group", ""), kind.get("version", "")
    elsewhere = (group, version) not in (("", ""), (gv.group, gv.version))
    return {
        **({"group": group, "version": version} if elsewhere else {}),
        "kind": kind.get("kind", ""),
    }
