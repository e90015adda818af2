"""Objects on the wire: frames, answers and lists of each view."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from proreus.api.group_version import GroupVersionKind
from proreus.api.wire import json, protobuf, splice
from proreus.server import views
from proreus.server.resource import CustomVersion
from proreus.server.views.json_view import stored_size
from proreus.server.views.list_encodings import json_pieces
from proreus.server.views.zero_values import zero_body
from proreus.server.watch_cache.query import ListResult
from tests.unit.server.views.sample import StandingClock, cached, resource

CONFIG_MAPS = resource("configmaps")
PODS = resource("pods")
A = cached("a", 7, {"data": {"k": "v"}})
B = cached("b", 8, {"data": {}})
ENCODINGS = views.RememberedEncodings()
GONE = {"kind": "Status", "code": 410}


def table(
    include: views.IncludeObject = views.IncludeObject.METADATA, version: str = "v1"
) -> views.TableView:
    view = views.JsonView(CONFIG_MAPS)
    return views.TableView(
        CONFIG_MAPS.printer, view, StandingClock(), include=include, version=version
    )


ALL_VIEWS = [views.JsonView(CONFIG_MAPS), views.MetadataView(), table()]


def listed_by(view: views.ResponseView, listing: ListResult, *, continue_token: str = "") -> bytes:
    return b"".join(json_pieces(view.parts(listing, continue_token=continue_token)))


def decoded(body: bytes) -> Any:
    assert body.endswith(b"\n")
    assert body.count(b"\n") == 1
    return json.decode(body)


def test_a_json_event_is_the_object_with_its_kind() -> None:
    assert decoded(views.JsonView(CONFIG_MAPS).event("MODIFIED", A)) == {
        "type": "MODIFIED",
        "object": {"kind": "ConfigMap", "apiVersion": "v1", **splice.decode_item(A.item)},
    }


def test_an_object_of_a_group_names_it() -> None:
    view = views.JsonView(resource("deployments", "apps"))
    assert decoded(view.object(cached("d", 3)))["apiVersion"] == "apps/v1"


@pytest.mark.parametrize("is_custom", [False, True])
@pytest.mark.parametrize("count", [1, 63, 64, 65, 128, 200])
def test_a_list_in_pieces_is_the_list(count: int, is_custom: bool) -> None:
    view = views.JsonView(replace(CONFIG_MAPS, custom=CustomVersion() if is_custom else None))
    listing = ListResult([(A, B)[n % 2] for n in range(count)], 9)

    size, pieces = view.listing_pieces(listing, stored_size(listing.objects), continue_token="more")
    whole = b"".join(pieces)

    assert whole == listed_by(view, listing, continue_token="more")
    assert len(whole) == size


def test_list_items_have_no_kind_unless_the_kind_is_custom() -> None:
    plain = decoded(listed_by(views.JsonView(CONFIG_MAPS), ListResult([A, B], 9)))
    assert plain == {
        "kind": "ConfigMapList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "9"},
        "items": [splice.decode_item(A.item), splice.decode_item(B.item)],
    }
    custom = decoded(
        listed_by(
            views.JsonView(replace(CONFIG_MAPS, custom=CustomVersion())), ListResult([A, B], 9)
        )
    )
    assert [item["kind"] for item in custom["items"]] == ["ConfigMap", "ConfigMap"]


@pytest.mark.parametrize("objects", [[], [A], [A, B], [A, B, A]], ids=len)
def test_a_list_has_all_its_items_in_order(objects: list[Any]) -> None:
    body = decoded(listed_by(views.JsonView(CONFIG_MAPS), ListResult(objects, 9)))
    assert body["items"] == [splice.decode_item(obj.item) for obj in objects]


@pytest.mark.parametrize("view", ALL_VIEWS, ids=repr)
def test_a_page_reports_how_to_go_on_and_how_much_is_left(view: Any) -> None:
    page = ListResult([A], 9, next_start="ns/b", remaining=4)
    assert decoded(listed_by(view, page, continue_token="more"))["metadata"] == {
        "resourceVersion": "9",
        "continue": "more",
        "remainingItemCount": 4,
    }
    assert decoded(listed_by(view, page))["metadata"] == {"resourceVersion": "9"}


@pytest.mark.parametrize("view", ALL_VIEWS, ids=repr)
def test_an_error_is_the_status_itself(view: Any) -> None:
    assert decoded(view.error(GONE)) == {"type": "ERROR", "object": GONE}


def test_a_bookmark_of_a_typed_kind_shows_its_zero_fields() -> None:
    assert decoded(views.JsonView(PODS).bookmark(5, initial_events_end=False)) == {
        "type": "BOOKMARK",
        "object": {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": "5"},
            "spec": {"containers": None},
            "status": {},
        },
    }
    definitions = resource("customresourcedefinitions", "apiextensions.k8s.io")
    assert b'"versions":null}' in views.JsonView(definitions).bookmark(5, initial_events_end=False)


def test_the_bookmark_that_ends_initial_events_is_marked() -> None:
    body = decoded(views.JsonView(CONFIG_MAPS).bookmark(5, initial_events_end=True))
    assert body["object"]["metadata"] == {
        "resourceVersion": "5",
        "annotations": {"k8s.io/initial-events-end": "true"},
    }


def test_a_kind_without_zero_fields_has_none() -> None:
    assert zero_body(GroupVersionKind("", "v1", "ConfigMap")) == b""
    assert zero_body(GroupVersionKind("example.com", "v1", "Thing")) == b""


def test_metadata_is_cut_out_of_the_object() -> None:
    assert decoded(views.MetadataView().object(A)) == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": splice.decode_item(A.item)["metadata"],
    }


def test_a_metadata_list_of_nothing_has_null_items() -> None:
    empty = decoded(listed_by(views.MetadataView("v1beta1"), ListResult([], 9)))
    assert empty["items"] is None
    full = decoded(listed_by(views.MetadataView("v1beta1"), ListResult([A, B], 9)))
    assert [item["apiVersion"] for item in full["items"]] == ["meta.k8s.io/v1beta1"] * 2


def test_only_the_first_table_of_a_stream_defines_the_columns() -> None:
    view = table()
    first, later = (decoded(make("ADDED", A)) for make in (view.first_event, view.event))
    assert [column["name"] for column in first["object"]["columnDefinitions"]] == [
        "Name",
        "Data",
        "Age",
    ]
    assert later["object"]["columnDefinitions"] is None
    assert first["object"]["rows"] == later["object"]["rows"]
    assert first["object"]["metadata"] == {"resourceVersion": "7"}


def test_a_table_bookmark_has_a_row_of_nothing() -> None:
    view = table(views.IncludeObject.NONE)
    marked = decoded(view.bookmark(5, initial_events_end=True))["object"]
    assert marked["rows"][0]["cells"] == ["", 0, "<unknown>"]
    assert marked["rows"][0]["object"]["metadata"]["annotations"]
    assert marked["metadata"] == {"resourceVersion": "5"}
    assert marked["columnDefinitions"] is None
    plain = decoded(view.first_bookmark(5, initial_events_end=False))["object"]
    assert plain["rows"][0]["object"] is None
    assert plain["columnDefinitions"]


def test_rows_carry_nothing_metadata_or_the_object() -> None:
    rows = {
        include: decoded(listed_by(table(include), ListResult([A], 9)))["rows"][0]["object"]
        for include in views.IncludeObject
    }
    assert rows[views.IncludeObject.NONE] is None
    assert rows[views.IncludeObject.METADATA]["kind"] == "PartialObjectMetadata"
    assert rows[views.IncludeObject.OBJECT]["data"] == {"k": "v"}


@pytest.mark.parametrize("include", views.IncludeObject)
def test_a_decoded_document_makes_the_same_table(include: views.IncludeObject) -> None:
    view = table(include)
    document = {"kind": "ConfigMap", "apiVersion": "v1", **splice.decode_item(A.item)}
    assert decoded(view.document(document)) == decoded(view.object(A))


def test_a_review_shows_no_metadata_where_it_has_none() -> None:
    review = {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1"}
    assert decoded(views.MetadataView().document(review))["metadata"] == {}
    assert decoded(views.JsonView(CONFIG_MAPS).document(review)) == review


def test_a_table_of_no_rows_is_an_empty_list_or_null_for_definitions() -> None:
    assert decoded(listed_by(table(), ListResult([], 9)))["rows"] == []
    definitions = resource("customresourcedefinitions", "apiextensions.k8s.io")
    view = views.TableView(definitions.printer, views.JsonView(definitions), StandingClock())
    assert decoded(listed_by(view, ListResult([], 9)))["rows"] is None


def test_equal_views_are_equal_and_different_ones_are_not() -> None:
    pairs = [(views.JsonView(CONFIG_MAPS), views.JsonView(CONFIG_MAPS)), (table(), table())]
    for one, other in pairs:
        assert one == other
        assert hash(one) == hash(other)
    assert views.JsonView(CONFIG_MAPS) != views.JsonView(PODS)
    assert table() != table(views.IncludeObject.NONE)
    assert table() != table(version="v1beta1")
    assert views.MetadataView() != views.MetadataView("v1beta1")
    assert len({*ALL_VIEWS, *ALL_VIEWS}) == len(ALL_VIEWS)


def swapped(obj: dict[str, Any], to: GroupVersionKind) -> dict[str, Any]:
    assert obj["apiVersion"] == "autoscaling/v2"
    assert to.version == "v1"
    return {**obj, "apiVersion": to.api_version, "spec": {"old": True}}


def test_a_resource_stored_in_another_version_is_converted() -> None:
    scalers = resource("horizontalpodautoscalers", "autoscaling", "v1")
    view = views.ConvertedView(scalers, views.JsonView(scalers), swapped)
    scaler = cached("h", 4, {"spec": {"new": True}})
    event = decoded(view.event("ADDED", scaler))["object"]
    assert (event["apiVersion"], event["spec"]) == ("autoscaling/v1", {"old": True})
    assert event["metadata"]["resourceVersion"] == "4"
    assert decoded(view.object(scaler)) == event
    listed = decoded(listed_by(view, ListResult([scaler], 9), continue_token="t"))
    assert listed["items"][0]["spec"] == {"old": True}
    rows = views.TableView(
        scalers.printer, view, StandingClock(), include=views.IncludeObject.OBJECT
    )
    assert decoded(rows.object(scaler))["rows"][0]["object"] == event
    assert view == views.ConvertedView(scalers, views.JsonView(scalers), swapped)


def test_answers_can_be_indented_or_written_as_yaml() -> None:
    body = views.JsonView(CONFIG_MAPS).object(A)
    assert views.indented(body).startswith(b'{\n  "kind": "ConfigMap"')
    assert not views.indented(body).endswith(b"\n")
    assert views.to_yaml(body).startswith(b"apiVersion: v1\ndata:\n  k: v\nkind: ConfigMap\n")


def test_protobuf_says_what_the_json_view_says() -> None:
    whole = views.JsonView(CONFIG_MAPS)
    view = views.ProtobufView(whole, ENCODINGS)
    assert protobuf.decode(views.to_protobuf(whole.object(A))) == decoded(whole.object(A))
    assert protobuf.decode(views.to_protobuf(whole.document(GONE)))["code"] == 410
    metadata = views.ProtobufView(views.MetadataView(), ENCODINGS)
    rendered = views.MetadataView().object(A)
    assert protobuf.decode(views.to_protobuf(rendered)) == decoded(rendered)
    assert view == views.ProtobufView(whole, ENCODINGS)
    assert len({view, metadata, whole}) == 3


def test_protobuf_frames_carry_their_length() -> None:
    view = views.ProtobufView(views.JsonView(CONFIG_MAPS), ENCODINGS)
    frames = {
        "ADDED": view.event("ADDED", A),
        "BOOKMARK": view.bookmark(5, initial_events_end=True),
        "ERROR": view.error(GONE),
    }
    for event_type, frame in frames.items():
        assert int.from_bytes(frame[:4], "big") == len(frame) - 4
        assert frame[4:].startswith(b"\n%c%b\x12" % (len(event_type), event_type.encode()))
    assert view.first_event("ADDED", A) == frames["ADDED"]


def test_discovery_of_the_core_group_is_a_document_of_version_one() -> None:
    body = views.to_protobuf(b'{"kind":"APIVersions","versions":["v1"]}')
    assert protobuf.decode(body) == {"kind": "APIVersions", "apiVersion": "v1", "versions": ["v1"]}
