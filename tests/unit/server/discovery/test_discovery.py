"""What is served, as clients discover it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from proreus.api.group_version import GroupVersion, GroupVersionKind, GroupVersionResource
from proreus.api.wire import json
from proreus.server.discovery.aggregated import AggregatedDiscovery
from proreus.server.discovery.ordering import versions_in_order
from proreus.server.discovery.storage_version import storage_version_hash
from proreus.server.discovery.unaggregated import UnaggregatedDiscovery
from proreus.server.discovery.version import version_document
from proreus.server.kinds import builtin_resources
from proreus.server.kinds.parts.scale import SCALE
from proreus.server.registry.catalog import Catalog
from proreus.server.resource import CustomVersion, Names, Resource, Subresource

THING = Resource(
    names=Names.of("example.com", "v1beta1", "Thing", "things"),
    namespaced=True,
    custom=CustomVersion(),
    subresources=(
        Subresource(
            name="status",
            kind=GroupVersionKind("example.com", "v1beta1", "Thing"),
            verbs=("get", "patch", "update"),
        ),
    ),
)


def catalog() -> Catalog:
    return Catalog(builtin_resources())


def entry(document: Any, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(e for e in document.decoded()["resources"] if e["name"] == name)
    return found


@pytest.mark.parametrize(
    ("group", "plural", "text"),
    [
        ("", "pods", "xPOwRZ+Yhw8="),
        ("", "services", "0/CO1lhkEBI="),
        ("events.k8s.io", "events", "r2yiGXH7wu8="),
        ("", "events", "r2yiGXH7wu8="),
        ("batch", "cronjobs", "sd5LIXh4Fjs="),
        ("", "bindings", None),
        ("", "componentstatuses", None),
    ],
)
def test_the_storage_version_hash_names_the_stored_type(
    group: str, plural: str, text: str | None
) -> None:
    resource = catalog().lookup(group, "v1", plural)
    assert resource is not None
    assert storage_version_hash(resource) == text


def test_api_reports_the_core_version_and_our_address() -> None:
    assert UnaggregatedDiscovery(catalog()).api_versions("10.0.0.1:6443").decoded() == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": "10.0.0.1:6443"}
        ],
    }


def test_apis_lists_every_group_but_the_core_one() -> None:
    groups = UnaggregatedDiscovery(catalog()).groups().decoded()["groups"]
    names = [group["name"] for group in groups]
    assert "" not in names
    assert names.index("apps") < names.index("batch") < names.index("storage.k8s.io")
    autoscaling = next(group for group in groups if group["name"] == "autoscaling")
    assert autoscaling["preferredVersion"] == {"groupVersion": "autoscaling/v2", "version": "v2"}
    assert [v["version"] for v in autoscaling["versions"]] == ["v2", "v1"]


def test_a_group_that_is_not_served_is_none() -> None:
    legacy = UnaggregatedDiscovery(catalog())
    assert legacy.group("example.com") is None
    assert legacy.group("") is None
    assert legacy.resources(GroupVersion("apps", "v9")) is None
    assert legacy.group("apps") is not None


def test_the_core_list_has_no_api_version() -> None:
    legacy = UnaggregatedDiscovery(catalog())
    core, apps = (legacy.resources(GroupVersion(group, "v1")) for group in ("", "apps"))
    assert core is not None
    assert apps is not None
    assert "apiVersion" not in core.decoded()
    assert apps.decoded()["apiVersion"] == "v1"
    names = [resource["name"] for resource in core.decoded()["resources"]]
    assert names == sorted(names)


def test_subresources_name_the_group_of_a_foreign_kind_only() -> None:
    core = UnaggregatedDiscovery(catalog()).resources(GroupVersion("", "v1"))
    assert entry(core, "pods/eviction") == {
        "name": "pods/eviction",
        "singularName": "",
        "namespaced": True,
        "kind": "Eviction",
        "verbs": ["create"],
        "group": "policy",
        "version": "v1",
    }
    assert "group" not in entry(core, "pods/status")


def test_aggregated_discovery_has_the_core_group_apart() -> None:
    aggregated = AggregatedDiscovery(catalog())
    (core,) = aggregated.core().decoded()["items"]
    assert core["metadata"] == {}
    names = [item["metadata"]["name"] for item in aggregated.groups().decoded()["items"]]
    assert "apps" in names
    assert all(names)
    assert core["versions"][0]["freshness"] == "Current"


def test_custom_resources_say_where_their_kinds_live() -> None:
    served = Catalog([THING])
    (group,) = AggregatedDiscovery(served).groups().decoded()["items"]
    (listed,) = group["versions"][0]["resources"]
    kind = {"group": "example.com", "version": "v1beta1", "kind": "Thing"}
    assert listed["responseKind"] == kind
    assert listed["subresources"][0]["responseKind"] == kind


def test_documents_follow_the_catalog() -> None:
    served = catalog()
    legacy, aggregated = UnaggregatedDiscovery(served), AggregatedDiscovery(served)
    before = aggregated.groups()
    assert aggregated.groups() is before
    served.add(THING)
    assert aggregated.groups().etag != before.etag
    assert legacy.group("example.com") is not None
    served.remove(GroupVersionResource("example.com", "v1beta1", "things"))
    assert legacy.group("example.com") is None
    assert aggregated.groups() == before


def test_an_etag_is_a_quoted_hash() -> None:
    tag = AggregatedDiscovery(catalog()).core().etag
    assert len(tag) == 130
    assert tag == tag.upper()
    assert tag[0] == tag[-1] == '"'


def test_versions_are_listed_newest_stable_first() -> None:
    names = ["v1alpha1", "foo", "v2beta1", "v1", "v10", "v2", "v1beta2", "bar", "v2beta10"]
    assert versions_in_order(names) == [
        "v10", "v2", "v1", "v2beta10", "v2beta1", "v1beta2", "v1alpha1", "bar", "foo",
    ]  # fmt: skip


def test_the_version_is_text_that_clients_can_parse() -> None:
    version = json.decode(version_document())
    assert (version["major"], version["minor"]) == ("1", "37")
    assert version["gitVersion"] == "v1.37.0+proreus"
    assert all(isinstance(value, str) for value in version.values())


def test_replacing_a_resource_changes_what_is_discovered() -> None:
    served = Catalog([THING])
    legacy = UnaggregatedDiscovery(served)
    served.add(replace(THING, names=replace(THING.names, short_names=("th",))))
    listed = legacy.resources(GroupVersion("example.com", "v1beta1"))
    assert entry(listed, "things")["shortNames"] == ["th"]


def test_subresources_of_a_custom_kind_come_after_it_in_their_own_order() -> None:
    scaled = replace(THING, subresources=(*THING.subresources, SCALE))
    other = replace(THING, names=Names.of("example.com", "v1beta1", "Other", "others"))

    found = UnaggregatedDiscovery(Catalog([scaled, other])).resources(
        GroupVersion("example.com", "v1beta1")
    )

    assert found is not None
    assert [one["name"] for one in found.decoded()["resources"]] == [
        "others", "others/status", "things", "things/status", "things/scale",
    ]  # fmt: skip


def test_a_stored_version_that_is_not_served_has_no_hash() -> None:
    unserved = replace(THING, custom=CustomVersion(is_storage_served=False))

    assert storage_version_hash(THING) is not None
    assert storage_version_hash(unserved) is None
