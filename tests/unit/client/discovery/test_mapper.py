"""Names and kinds: every way people write them."""

from __future__ import annotations

import pytest

from proreus.api.group_version import GroupKind, GroupVersion
from proreus.client.discovery.api_resource import ApiResource
from proreus.client.discovery.mapper import RestMapper, UnknownResource


def resource(gv: str, name: str, kind: str, *short_names: str) -> ApiResource:
    group_version = GroupVersion.parse(gv)
    return ApiResource(
        group=group_version.group,
        version=group_version.version,
        name=name,
        kind=kind,
        namespaced=True,
        singular=kind.lower(),
        short_names=short_names,
    )


MAPPER = RestMapper(
    [
        resource("v1", "pods", "Pod", "po"),
        resource("v1", "events", "Event", "ev"),
        resource("apps/v1", "deployments", "Deployment", "deploy"),
        resource("apps/v1beta1", "deployments", "Deployment", "deploy"),
        resource("events.k8s.io/v1", "events", "Event", "ev"),
        resource("metrics.k8s.io/v1beta1", "pods", "PodMetrics"),
        resource("shop.example.com/v1", "widgets", "Widget", "po"),
    ]
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pods", "v1/pods"),
        ("Pod", "v1/pods"),
        ("po", "v1/pods"),
        ("events", "v1/events"),
        ("events.events.k8s.io", "events.k8s.io/v1/events"),
        ("ev.events.k8s.io", "events.k8s.io/v1/events"),
        ("deploy", "apps/v1/deployments"),
        ("deployments.apps", "apps/v1/deployments"),
        ("deployment.v1beta1.apps", "apps/v1beta1/deployments"),
        ("pods.v1", "v1/pods"),
        ("pods.v1.", "v1/pods"),
        ("pods.metrics", "metrics.k8s.io/v1beta1/pods"),
        ("widgets.shop.example.com", "shop.example.com/v1/widgets"),
        ("widgets.shop", "shop.example.com/v1/widgets"),
    ],
)
def test_people_write_names_in_many_ways(text: str, expected: str) -> None:
    found = MAPPER.by_name(text)

    assert f"{found.group_version}/{found.name}" == expected


@pytest.mark.parametrize("text", ["things", "pods.apps", "deployments.v2.apps", "pods.v9"])
def test_what_is_not_served_is_said(text: str) -> None:
    with pytest.raises(UnknownResource, match="does not have a resource type"):
        MAPPER.by_name(text)


def test_kinds_have_a_preferred_version() -> None:
    deployment = GroupKind("apps", "Deployment")

    assert MAPPER.by_kind(deployment).version == "v1"
    assert MAPPER.by_kind(deployment, "v1beta1").version == "v1beta1"
    with pytest.raises(UnknownResource, match=r"Deployment.apps.*'v2'"):
        MAPPER.by_kind(deployment, "v2")
    with pytest.raises(UnknownResource):
        MAPPER.by_resource("apps", "v1", "pods")


def test_each_resource_once_in_its_preferred_version() -> None:
    names = [f"{one.group}/{one.name}/{one.version}" for one in MAPPER.preferred()]

    assert "apps/deployments/v1" in names
    assert "apps/deployments/v1beta1" not in names
    assert len(list(iter(MAPPER))) == len(names) + 1


def test_groups_have_names_in_python() -> None:
    assert MAPPER.group_named("shop_example_com", "v1") == "shop.example.com"
    assert MAPPER.group_named("shop", "v1") == "shop.example.com"
    assert MAPPER.group_named("apps", "v1beta1") == "apps"
    with pytest.raises(UnknownResource):
        MAPPER.group_named("shop", "v2")
    assert repr(MAPPER.by_name("po")) == "<ApiResource v1/pods Pod>"
    assert str(MAPPER.by_name("deploy")) == "deployments.apps"
