"""Requests that differ in the name of their object alone share what is known about them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.wire.path import split
from proreus.server.http.request_info import info_of

PODS = "/api/v1/namespaces/n/pods"


@pytest.mark.parametrize(
    "one",
    [
        PODS + "/{}",
        PODS + "/{}/status",
        PODS + "/{}/binding",
        "/api/v1/nodes/{}",
        "/apis/apps/v1/namespaces/n/deployments/{}/scale",
    ],
)
def test_requests_for_objects_of_one_collection_are_alike(one: str) -> None:
    first, a = info_of("GET", one.format("a"), asks_watch=False)
    second, b = info_of("GET", one.format("b"), asks_watch=False)

    assert first is second
    assert (a, b) == ("a", "b")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("GET", f"{PODS}/a"), ("PUT", f"{PODS}/a")),
        (("GET", f"{PODS}/a"), ("GET", f"{PODS}/a/status")),
        (("GET", f"{PODS}/a"), ("GET", PODS)),
        (("GET", "/api/v1/namespaces/a"), ("GET", "/api/v1/namespaces/b")),
        (("GET", "/healthz"), ("GET", "/livez")),
    ],
)
def test_requests_that_differ_otherwise_are_not(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    assert info_of(*one, asks_watch=False)[0] is not info_of(*other, asks_watch=False)[0]


_SEGMENTS = st.sampled_from(
    ["", "api", "apis", "v1", "apps", "namespaces", "n", "pods", "watch", "proxy", "status",
     "scale", "token", "finalize", "x" * 220]
)  # fmt: skip


@given(method=st.sampled_from(["GET", "POST"]), segments=st.lists(_SEGMENTS, max_size=9))
def test_a_remembered_path_names_the_same_as_one_split_anew(
    method: str, segments: list[str]
) -> None:
    path = "/" + "/".join(segments)

    info, name = info_of(method, path, asks_watch=False)

    assert info.target_of(name) == split(path)
