"""Requests are built and refused without I/O."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.group_version import GroupVersion
from proreus.api.patch.patch_type import PatchType
from proreus.client.rest.request import (
    InvalidRequest,
    RestRequest,
    list_query,
    path_segment,
    require_name,
    resource_path,
    watch_query,
    write_query,
)

CORE, APPS = GroupVersion("", "v1"), GroupVersion("apps", "v1")


def test_paths_follow_the_api() -> None:
    assert resource_path(CORE, "pods") == "/api/v1/pods"
    assert resource_path(CORE, "pods", namespace="a") == "/api/v1/namespaces/a/pods"
    assert (
        resource_path(APPS, "Deployments", namespace="a", name="b", subresource="scale")
        == "/apis/apps/v1/namespaces/a/deployments/b/scale"
    )
    assert (
        resource_path(CORE, "nodes", name="n", subresource="proxy/metrics")
        == "/api/v1/nodes/n/proxy/metrics"
    )


@pytest.mark.parametrize("name", [".", "..", "a/b", "a%2fb", "/"])
def test_a_name_cannot_lead_elsewhere(name: str) -> None:
    for place in ("namespace", "name"):
        with pytest.raises(InvalidRequest):
            resource_path(CORE, "pods", **{place: name})


@given(st.text(min_size=1).filter(lambda t: t not in (".", "..") and not set(t) & set("/%")))
def test_any_other_name_stays_one_segment(name: str) -> None:
    try:
        segment = path_segment(name, "name")
    except UnicodeEncodeError:
        return  # a lone surrogate is no text

    assert not set(segment) & set("/?# ")


def test_what_needs_a_name_says_so() -> None:
    with pytest.raises(InvalidRequest, match="needs a name"):
        resource_path(CORE, "pods", subresource="status")
    with pytest.raises(InvalidRequest, match="name is empty"):
        require_name("")
    with pytest.raises(InvalidRequest, match="empty"):
        path_segment("", "namespace")


def test_empty_options_are_left_out() -> None:
    assert list_query() == ()
    assert list_query(label_selector="a=b", limit=5, resource_version="0") == (
        ("labelSelector", "a=b"),
        ("resourceVersion", "0"),
        ("limit", "5"),
    )
    assert watch_query((("limit", "1"),), send_initial_events=True) == (
        ("limit", "1"),
        ("watch", "true"),
        ("allowWatchBookmarks", "true"),
        ("sendInitialEvents", "true"),
    )
    assert watch_query((), allow_bookmarks=False) == (("watch", "true"),)
    assert write_query(dry_run=True, force=True) == (("dryRun", "All"), ("force", "true"))


def test_a_request_says_what_it_is() -> None:
    request = RestRequest("list", "GET", "/api/v1/pods", list_query(label_selector="a in (b,c)"))

    assert request.target == "/api/v1/pods?labelSelector=a+in+%28b%2Cc%29"
    assert repr(request) == f"<list: GET {request.target}>"
    assert PatchType.APPLY.value == "application/apply-patch+yaml"
