"""Discovery documents of other servers are read as far as they make sense."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proreus.api.group_version import GroupVersion
from proreus.server.aggregation.discovered import (
    UnreadableDiscovery,
    from_aggregated,
    from_resource_list,
    is_aggregated,
    openapi_url,
)

WHERE = GroupVersion("example.com", "v1")
NO_KIND = {"group": "", "version": "", "kind": ""}


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


def groups(*resources: Any, group: str = "example.com", version: str = "v1") -> bytes:
    versions = [{"version": version, "resources": list(resources)}]
    items = [{"metadata": {"name": group}, "versions": versions}]
    return encoded({"kind": "APIGroupDiscoveryList", "items": items})


def test_entries_of_the_version_are_taken_and_nothing_they_should_not_have() -> None:
    entry = {
        "resource": "widgets",
        "responseKind": {"group": "example.com", "version": "v1", "kind": "Widget", "odd": 1},
        "scope": "Namespaced",
        "singularResource": "widget",
        "verbs": ["get", 7],
        "shortNames": ["wd"],
        "categories": "all",
        "unknown": {"deep": []},
        "subresources": [{"subresource": "status", "verbs": ["get"]}, 3],
    }

    (found,) = from_aggregated(groups(entry, "no entry"), WHERE)

    assert found == {
        "resource": "widgets",
        "responseKind": {"group": "example.com", "version": "v1", "kind": "Widget"},
        "scope": "Namespaced",
        "singularResource": "widget",
        "verbs": ["get"],
        "shortNames": ["wd"],
        "subresources": [{"subresource": "status", "responseKind": NO_KIND, "verbs": ["get"]}],
    }


@pytest.mark.parametrize(
    "body", [groups({}, group="other.com"), groups({}, version="v2"), groups()]
)
def test_a_server_without_the_version_has_no_resources(body: bytes) -> None:
    assert from_aggregated(body, WHERE) == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"7", b'{"kind":"APIGroupList"}', b"\xff"])
def test_what_is_no_document_is_refused(body: bytes) -> None:
    with pytest.raises(UnreadableDiscovery):
        from_aggregated(body, WHERE)
    with pytest.raises(UnreadableDiscovery):
        from_resource_list(body)


def test_a_list_of_resources_says_the_same() -> None:
    listed = [
        {"name": "widgets/scale", "group": "autoscaling", "version": "v1", "kind": "Scale",
         "verbs": ["get"]},
        {"name": "widgets", "singularName": "widget", "namespaced": True, "kind": "Widget",
         "verbs": ["list"], "shortNames": ["wd"]},
        {"name": "hosts", "kind": "Host", "verbs": ["get"]},
        {"name": "absent/status", "kind": "Absent"},
    ]  # fmt: skip

    found = from_resource_list(encoded({"kind": "APIResourceList", "resources": listed}))

    assert [one["resource"] for one in found] == ["widgets", "hosts"]
    assert found[0]["scope"] == "Namespaced"
    assert found[0]["shortNames"] == ["wd"]
    scale = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert found[0]["subresources"] == [
        {"subresource": "scale", "responseKind": scale, "verbs": ["get"]}
    ]
    assert found[1]["scope"] == "Cluster"


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("/openapi/v3/apis/example.com/v1?hash=A", True),
        ("/openapi/v3/apis/example.com/v1", True),
        ("/openapi/v3/apis/other.com/v1?hash=A", False),
        ("https://elsewhere/openapi/v3/apis/example.com/v1", False),
        (7, False),
    ],
)
def test_only_the_versions_own_schema_is_taken_for_it(url: Any, taken: bool) -> None:
    index = encoded({"paths": {"apis/example.com/v1": {"serverRelativeURL": url}}})

    assert openapi_url(index, WHERE) == (url if taken else "")


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"paths":7}', b'{"paths":{"apis/example.com/v1":1}}']
)
def test_an_index_that_is_none_has_no_schema(body: bytes) -> None:
    assert openapi_url(body, WHERE) == ""


def test_aggregated_discovery_is_known_by_its_content_type() -> None:
    assert is_aggregated("application/json;v=v2; g=apidiscovery.k8s.io;as=APIGroupDiscoveryList")
    assert not is_aggregated(
        "application/json;v=v2beta1;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList"
    )
    assert not is_aggregated("application/json")
