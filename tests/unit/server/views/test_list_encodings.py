"""Lists encoded while they are sent: the bytes of lists encoded whole, in bounded pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from proreus.api.wire import json, protobuf
from proreus.server.resource import CustomVersion
from proreus.server.views import (
    CborView,
    IncludeObject,
    JsonView,
    MetadataView,
    ObjectView,
    ProtobufView,
    RememberedEncodings,
    ResponseView,
    TableView,
    indented,
    to_protobuf,
    to_yaml,
)
from proreus.server.views.list_encodings import (
    IsDue,
    Piece,
    indented_pieces,
    json_pieces,
    never_due,
    protobuf_pieces,
    remembered_cbor_pieces,
    yaml_pieces,
)
from proreus.server.watch_cache.query import ListResult
from tests.cbor import json_of
from tests.unit.server.views.sample import StandingClock, cached, resource

CONFIG_MAPS = resource("configmaps")
LONG = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"


def table(include: IncludeObject) -> TableView:
    view = JsonView(CONFIG_MAPS)
    return TableView(CONFIG_MAPS.printer, view, StandingClock(), include=include, version="v1")


OBJECT_VIEWS: dict[str, ObjectView] = {
    "objects": JsonView(CONFIG_MAPS),
    "custom objects": JsonView(replace(CONFIG_MAPS, custom=CustomVersion())),
    "metadata": MetadataView(),
}
VIEWS: dict[str, ResponseView] = {
    **OBJECT_VIEWS,
    "table": table(IncludeObject.METADATA),
    "table of objects": table(IncludeObject.OBJECT),
}
LISTS = {
    "nothing": [],
    "one": [cached("a", 7, {"data": {"k": LONG, "l": "first\nsecond\n", "m": "yes", "é": ""}})],
    "several": [cached(f"n{n}", n + 1, {"data": {"k": "[{\n:" * n}}) for n in range(20)],
    "a large one between": [
        cached("a", 7, {"data": {}}),
        cached("b", 8, {"data": {f"k{n}": "v" for n in range(20_000)}}),
        cached("c", 9, {"data": {"k": "v"}}),
    ],
}


def in_protobuf(view: ObjectView, encodings: RememberedEncodings | None = None) -> ProtobufView:
    return ProtobufView(view, RememberedEncodings() if encodings is None else encodings)


def in_cbor(view: ObjectView) -> CborView:
    return CborView(view, RememberedEncodings())


def always_due() -> bool:
    return True


def joined(pieces: Iterator[Piece]) -> bytes:
    return b"".join(piece if isinstance(piece, bytes) else piece() for piece in pieces)


@pytest.mark.parametrize("is_due", [never_due, always_due])
@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_list_made_in_pieces_is_the_list_made_at_once(
    view: ResponseView, name: str, is_due: IsDue
) -> None:
    listing = ListResult(LISTS[name], 9, remaining=5)

    whole = joined(json_pieces(view.parts(listing, continue_token="more"), is_due))

    assert whole == joined(json_pieces(view.parts(listing, continue_token="more")))
    again = view.parts(listing, continue_token="more")
    assert joined(indented_pieces(again, is_due)) == indented(whole)
    again = view.parts(listing, continue_token="more")
    assert joined(yaml_pieces(again, is_due)) == to_yaml(whole)


@pytest.mark.parametrize("is_due", [never_due, always_due])
@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("of", ["objects", "metadata"])
def test_a_list_of_protobuf_made_in_pieces_is_the_list_made_at_once(
    of: str, name: str, is_due: IsDue
) -> None:
    listing, view = ListResult(LISTS[name], 9), OBJECT_VIEWS[of]

    parts = view.parts(listing, continue_token="more")
    pieces = protobuf_pieces(in_protobuf(view), parts, listing.objects, is_due)

    whole = joined(json_pieces(view.parts(listing, continue_token="more")))
    assert joined(pieces) == to_protobuf(whole)


@pytest.mark.parametrize("is_due", [never_due, always_due])
@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("of", OBJECT_VIEWS)
def test_a_list_of_cbor_made_in_pieces_says_what_the_list_in_json_says(
    of: str, name: str, is_due: IsDue
) -> None:
    listing, view = ListResult(LISTS[name], 9), OBJECT_VIEWS[of]

    parts = view.parts(listing, continue_token="more")
    pieces = remembered_cbor_pieces(in_cbor(view), parts, listing.objects, is_due)

    whole = joined(json_pieces(view.parts(listing, continue_token="more")))
    assert json_of(joined(pieces)) == json.decode(whole)


def test_a_list_too_large_to_be_kept_is_encoded_again_while_it_is_sent() -> None:
    """Its size comes first; what was encoded to find it is not held for a slow reader."""
    view, large = OBJECT_VIEWS["objects"], {"data": {"k": "x" * 100_000}}
    listing = ListResult([cached(f"n{n}", n + 1, large) for n in range(40)], 9)

    without_room = in_protobuf(view, RememberedEncodings(0))
    pieces = list(protobuf_pieces(without_room, view.parts(listing), listing.objects))

    assert joined(iter(pieces)) == to_protobuf(joined(json_pieces(view.parts(listing))))
    assert max(len(piece) for piece in pieces if isinstance(piece, bytes)) < 600_000


def test_one_object_that_takes_long_is_work_for_elsewhere() -> None:
    listing = ListResult(LISTS["a large one between"], 9)
    view = OBJECT_VIEWS["objects"]
    encoders: list[Callable[[], Iterator[Piece]]] = [
        lambda: yaml_pieces(view.parts(listing)),
        lambda: protobuf_pieces(in_protobuf(view), view.parts(listing), listing.objects),
        lambda: remembered_cbor_pieces(in_cbor(view), view.parts(listing), listing.objects),
    ]

    for pieces in encoders:
        assert sum(callable(piece) for piece in pieces()) == 1


def test_a_kind_without_a_message_is_refused_with_the_first_piece() -> None:
    view = OBJECT_VIEWS["objects"]
    no_objects = VIEWS["table"].parts(ListResult([], 9))

    with pytest.raises(protobuf.ProtobufError):
        next(protobuf_pieces(in_protobuf(view), no_objects, []))
