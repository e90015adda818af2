"""Paths ⇄ what they name (server.md §1.1, §12)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.wire.path import ApiPath, BadPathEscape, OtherPath, split, unescape


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/pods", ApiPath("", "v1", "pods")),
        (
            "/api/v1/namespaces/ns/pods/p/status",
            ApiPath("", "v1", "pods", "ns", "p", "status", scoped=True),
        ),
        ("/apis/apps/v1/deployments", ApiPath("apps", "v1", "deployments")),
        ("/api/v1/namespaces/ns", ApiPath("", "v1", "namespaces", "ns", "ns")),
        (
            "/api/v1/namespaces/ns/finalize",
            ApiPath("", "v1", "namespaces", "ns", "ns", "finalize"),
        ),
        ("/api/v1/nodes/n/proxy/a/b", ApiPath("", "v1", "nodes", "", "n", "proxy", ("a", "b"))),
        (
            "/api/v1/watch/namespaces/ns/pods",
            ApiPath("", "v1", "pods", "ns", scoped=True, watch=True),
        ),
        ("/api/v1/namespaces//pods", ApiPath("", "v1", "pods", scoped=True)),
        ("/api/v1/pods/", ApiPath("", "v1", "pods")),
    ],
)
def test_a_path_below_a_group_version_names_a_resource(path: str, expected: ApiPath) -> None:
    assert split(path) == expected


@pytest.mark.parametrize(
    "path", ["/", "/api", "/api/v1", "/apis/apps/v1", "/healthz", "//api/v1/pods", "/api/v1/watch"]
)
def test_other_paths_name_none(path: str) -> None:
    assert type(split(path)) is OtherPath


@pytest.mark.parametrize("raw", ["/%", "/a%2", "/%zz", "/%g0"])
def test_a_broken_escape_is_refused(raw: str) -> None:
    with pytest.raises(BadPathEscape):
        unescape(raw)


def test_escapes_are_taken_out_before_the_path_is_split() -> None:
    assert split(unescape("/api/v1/nodes%2Fa")) == split("/api/v1/nodes/a")


_NAMES = st.text("abcxyz019-.", min_size=1, max_size=12).filter(lambda name: name.strip("."))


@given(namespace=_NAMES, name=_NAMES, subresource=st.sampled_from(["", "status", "scale"]))
def test_what_a_client_asks_for_is_what_the_server_reads(
    namespace: str, name: str, subresource: str
) -> None:
    asked = ApiPath("apps", "v1", "deployments", namespace, name, subresource)

    read = split(unescape(str(asked)))

    assert isinstance(read, ApiPath)
    assert (read.namespace, read.name, read.subresource) == (namespace, name, subresource)


@given(st.text(max_size=60))
def test_any_text_is_split_without_failing(text: str) -> None:
    try:
        path = unescape(f"/{text}")
    except BadPathEscape:
        return
    assert split(path) is not None


def test_a_name_behind_two_slashes_is_not_the_collection_s() -> None:
    twice = split("/api/v1/namespaces/x/configmaps//a")

    assert twice != split("/api/v1/namespaces/x/configmaps/a")
