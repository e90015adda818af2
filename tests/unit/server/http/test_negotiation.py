"""Accept → the representation (server.md §8.1, §12)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.status import NotAcceptable, UnsupportedMediaType
from proreus.server.http.negotiation import (
    Choice,
    Form,
    Media,
    Offer,
    accepted_type,
    aggregated_media,
    check_routed,
    has_readable_parameters,
    negotiate,
    patch_type,
    stream_media,
)
from proreus.server.resource import Names, Resource

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PODS = Resource(names=Names.of("", "v1", "Pod", "pods"), namespaced=True)
AGGREGATED = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("", Media.JSON),
        ("*/*", Media.JSON),
        ("application/yaml", Media.YAML),
        ("application/json;q=0.5,application/yaml", Media.YAML),
        ("application/yaml;q=0.1,*/*;q=0.9", Media.JSON),
        ("*/*,application/yaml;q=0.1", Media.YAML),  # a specific type passes a better wildcard
        ("application/yaml;q=x,application/json;q=0.9", Media.JSON),
        ("application/json;q=2,application/yaml;q=3", Media.YAML),
        ("application/json;stream=other,application/yaml", Media.YAML),
        ("application/json;as=;sv=;stream=,application/yaml", Media.JSON),
        ("application/json;as=Table=,application/yaml", Media.JSON),
        ("application/json/x,application/,application/yaml", Media.YAML),
    ],
)
def test_which_encoding_wins(accept: str, media: Media) -> None:
    assert negotiate(accept).media is media


def test_a_table_is_chosen_where_it_can_be_made() -> None:
    assert negotiate(TABLE) == Choice(Media.JSON, Form.TABLE, "v1")
    assert negotiate(f"{TABLE},application/json", Offer(has_table=False)) == Choice()
    with pytest.raises(NotAcceptable):
        negotiate(TABLE, Offer(has_table=False))


@pytest.mark.parametrize(
    "accept",
    [
        "application/json;as=Chair;v=v1;g=meta.k8s.io",
        "application/json;as=Table;v=v2;g=meta.k8s.io",
        "application/json;as=Table",
        "application/json;g=meta.k8s.io",
        "application/json;sv=v1",
        "application/yaml;stream=watch",
        "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io",
    ],
)
def test_what_nobody_can_make_is_not_acceptable(accept: str) -> None:
    with pytest.raises(NotAcceptable, match="only the following media types are accepted"):
        negotiate(accept)


@pytest.mark.parametrize("accept", ["text/html", "application/*", "*", "Application/JSON"])
def test_the_router_knows_whole_types_only(accept: str) -> None:
    with pytest.raises(NotAcceptable, match="406: Not Acceptable"):
        check_routed(accept, is_collection=False)


def test_yaml_cannot_be_streamed() -> None:
    with pytest.raises(NotAcceptable, match="stream=watch"):
        stream_media(Choice(Media.YAML))


def test_custom_resources_have_no_protobuf_but_of_their_metadata() -> None:
    custom = Offer(is_custom=True)
    metadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"

    assert negotiate(metadata, custom).media is Media.PROTOBUF
    with pytest.raises(NotAcceptable):
        negotiate("application/vnd.kubernetes.protobuf", custom)


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (f"application/json,application/json;{AGGREGATED};q=0.1", Media.JSON),
        (f"application/yaml;{AGGREGATED}", Media.YAML),
        ("application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList", None),
        ("application/json", None),
    ],
)
def test_aggregated_discovery_wins_wherever_it_stands(accept: str, media: Media | None) -> None:
    assert aggregated_media(accept) is media


def test_a_patch_says_which_kind_it_is() -> None:
    assert patch_type("application/merge-patch+json; charset=utf-8", PODS).startswith(
        "application/merge-patch"
    )
    with pytest.raises(UnsupportedMediaType, match="415"):
        patch_type("application/json", PODS)


def test_offered_types_are_taken_in_the_clients_order() -> None:
    offered = ("application/json", "application/x-proto")

    assert accepted_type("application/x-proto,application/json", offered) == offered[1]
    assert accepted_type("*/*", offered) == offered[0]
    assert accepted_type("text/html", offered) is None


@given(st.text(max_size=200))
def test_no_header_does_more_than_be_refused(accept: str) -> None:
    try:
        negotiate(accept)
    except NotAcceptable:
        return


@pytest.mark.parametrize(
    ("parameters", "are_readable"),
    [
        ("", True),
        (";", True),
        ("; charset=utf-8", True),
        (';a="b c" ;', True),
        (";a=b;A=b", True),
        (";a=b;a=c", False),
        (";a", False),
        (";a=", False),
        (";=b", False),
        (";;a=b", False),
        (';a="b', False),
        (";a=b c", False),
        (";" + " " * 200_000, True),  # would take minutes if it were searched from each blank
        (";a" + " " * 200_000 + "=" + " " * 200_000, False),
    ],
)
def test_which_parameters_a_content_type_may_have(parameters: str, are_readable: bool) -> None:
    assert has_readable_parameters(f"application/json{parameters}") is are_readable
