"""Protobuf and CBOR: each version of an object is encoded once, and as it would be each time."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.api.wire import json, protobuf
from proreus.server.views import (
    CborView,
    JsonView,
    MetadataView,
    ObjectView,
    ProtobufView,
    RememberedEncodings,
    RememberedView,
    to_protobuf,
)
from proreus.server.views.list_encodings import protobuf_pieces, remembered_cbor_pieces
from proreus.server.watch_cache.object import CachedObject, EncodedObject
from proreus.server.watch_cache.query import ListResult, Selection
from proreus.testing.virtual_clock import VirtualClock
from tests.cbor import json_of
from tests.unit.server.views.sample import cached, resource
from tests.watching import RecordingSink, cluster_on_memory, from_start, selection

CONFIG_MAPS, PODS = resource("configmaps"), resource("pods")
KINDS: list[type[ProtobufView | CborView]] = [ProtobufView, CborView]
CHANGES = st.tuples(st.sampled_from("abc"), st.sampled_from(["", "x", "y" * 300]))


def config_map(name: str, revision: int, value: str = "v") -> CachedObject:
    return cached(name, revision, {"data": {"k": value}})


def counting(
    kind: type[ProtobufView | CborView], encoded: list[bytes]
) -> type[ProtobufView | CborView]:
    """``kind``, which puts all that it encodes into ``encoded``."""

    class Counting(kind):  # type: ignore[valid-type,misc]  # either of two classes
        def encode(self, source: bytes) -> bytes:
            encoded.append(source)
            made: bytes = super().encode(source)
            return made

    return Counting


def is_remembered(view: RememberedView, obj: EncodedObject) -> bool:
    """What is encoded once is the same bytes object each time."""
    return view.encoding(obj, is_kept=False) is view.encoding(obj, is_kept=False)


def listed(view: ProtobufView | CborView, whole: ObjectView, objects: list[CachedObject]) -> bytes:
    parts = whole.parts(ListResult(objects, 9))
    if isinstance(view, ProtobufView):
        pieces = protobuf_pieces(view, parts, objects)
    else:
        pieces = remembered_cbor_pieces(view, parts, objects)
    return b"".join(piece if isinstance(piece, bytes) else piece() for piece in pieces)


@pytest.mark.parametrize("whole", [JsonView(CONFIG_MAPS), MetadataView()], ids=repr)
def test_answers_and_events_say_what_those_in_json_say(whole: ObjectView) -> None:
    obj = config_map("a", 7)
    in_protobuf = ProtobufView(whole, RememberedEncodings())
    in_cbor = CborView(whole, RememberedEncodings())

    for _ in range(2):
        assert in_protobuf.object(obj) == to_protobuf(whole.object(obj))
        assert json_of(in_cbor.object(obj)) == json.decode(whole.object(obj))
        for event_type in ("ADDED", "MODIFIED", "DELETED"):
            line = whole.event(event_type, obj)
            assert in_protobuf.event(event_type, obj) == ProtobufView.frame(line)
            assert json_of(in_cbor.event(event_type, obj)) == json.decode(line)


@pytest.mark.parametrize("kind", KINDS)
def test_a_watch_a_read_and_a_list_of_one_version_encode_it_once(
    kind: type[ProtobufView | CborView],
) -> None:
    obj, whole = config_map("a", 7), JsonView(CONFIG_MAPS)
    encoded = list[bytes]()
    view = counting(kind, encoded)(whole, RememberedEncodings())

    for _ in range(3):
        view.event("ADDED", obj)
        view.object(msgspec.structs.replace(obj))  # as storage reads it: other bytes, the same
        listed(view, whole, [obj])

    assert encoded == [whole.embedded(obj)]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_change_is_encoded_once_for_all_watches_whatever_they_select(
    kind: type[ProtobufView | CborView],
) -> None:
    encoded, sinks = list[bytes](), [RecordingSink() for _ in range(6)]
    view = counting(kind, encoded)(JsonView(PODS), RememberedEncodings())
    selections = [Selection(), selection(namespace="a"), selection(fields="spec.nodeName=n")]
    async with cluster_on_memory(VirtualClock()) as cluster:
        await cluster.reached(await cluster.write("a/x", node="n"))
        for sink, selected in zip(sinks, selections * 2, strict=True):
            await cluster.cache.watch(from_start(select=selected), view, sink)
        await cluster.settle()

        await cluster.reached(await cluster.write("a/x", node="n", n=1))

    assert len(encoded) == 2
    assert [len(sink.frames) for sink in sinks] == [2] * 6


@given(st.lists(CHANGES, max_size=30), st.integers(0, 12_000))
@settings(max_examples=60)
def test_what_is_remembered_is_what_is_encoded_anew(
    changes: list[tuple[str, str]], bytes_max: int
) -> None:
    """Whatever was asked for before, in whichever order, and however little room there is."""
    whole, encodings = JsonView(CONFIG_MAPS), RememberedEncodings(bytes_max)
    views = [kind(whole, encodings) for kind in KINDS]
    versions = [config_map(name, at + 1, value) for at, (name, value) in enumerate(changes)]

    for obj in versions + versions[::-1]:
        for view in views:
            anew = type(view)(whole, RememberedEncodings(0))
            assert view.object(obj) == anew.object(obj)
            assert view.event("MODIFIED", obj) == anew.event("MODIFIED", obj)
            assert listed(view, whole, versions) == listed(anew, whole, versions)
        assert encodings.kept_bytes <= bytes_max


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_version_takes_the_place_of_the_old_one(kind: type[ProtobufView | CborView]) -> None:
    encodings = RememberedEncodings()
    view = kind(JsonView(CONFIG_MAPS), encodings)
    old, new = config_map("a", 7), config_map("a", 8)

    view.event("ADDED", old)
    view.event("MODIFIED", new)
    view.object(old)  # somebody reads the past

    assert len(encodings) == 1
    assert is_remembered(view, new)
    assert not is_remembered(view, old)


def test_an_object_that_is_deleted_is_forgotten() -> None:
    encodings = RememberedEncodings()
    view = ProtobufView(JsonView(CONFIG_MAPS), encodings)
    view.event("ADDED", config_map("a", 7))

    view.event("DELETED", config_map("a", 8))

    assert len(encodings) == 0


def test_an_object_that_leaves_the_selection_of_one_watch_is_still_remembered() -> None:
    view = ProtobufView(JsonView(CONFIG_MAPS), RememberedEncodings())
    changed = config_map("a", 8)
    view.event("MODIFIED", changed)

    view.event("DELETED", config_map("a", 8, "as it last matched"))

    assert is_remembered(view, changed)


def test_objects_of_two_kinds_with_one_name_share_no_encoding() -> None:
    encodings = RememberedEncodings()
    metadata = [ProtobufView(MetadataView(), encodings) for _ in range(2)]
    ours, theirs = config_map("a", 7), cached("a", 8, {"spec": {}})

    bodies = [view.object(obj) for view, obj in zip(metadata, (ours, theirs), strict=True)]

    assert [version_in(body) for body in bodies] == ["7", "8"]
    assert len(encodings) == 2


def version_in(body: bytes) -> Any:
    return protobuf.decode(body)["metadata"]["resourceVersion"]


def test_what_is_asked_for_stays_when_there_is_no_room_for_all() -> None:
    encodings = RememberedEncodings(10_000)
    view = ProtobufView(JsonView(CONFIG_MAPS), encodings)
    asked = config_map("asked", 1)

    for number in range(100):
        view.object(asked)
        view.object(config_map(f"n{number}", number + 2))

    assert is_remembered(view, asked)
    assert not is_remembered(view, config_map("n0", 2))
    assert encodings.kept_bytes <= 10_000


def test_a_list_longer_than_the_room_is_remembered_in_part() -> None:
    whole, encodings = JsonView(CONFIG_MAPS), RememberedEncodings(20_000)
    view = ProtobufView(whole, encodings)
    objects = [config_map(f"n{number:03}", number + 1) for number in range(100)]

    for _ in range(2):
        listed(view, whole, objects)

    assert is_remembered(view, objects[0])
    assert not is_remembered(view, objects[-1])


def test_what_was_never_stored_is_not_remembered() -> None:
    encodings = RememberedEncodings()
    view = ProtobufView(JsonView(CONFIG_MAPS), encodings)

    view.object(config_map("a", 0))

    assert len(encodings) == 0


def test_a_large_object_takes_long_once() -> None:
    view = ProtobufView(JsonView(CONFIG_MAPS), RememberedEncodings())
    large = config_map("a", 7, "x" * 200_000)
    assert view.takes_long(large)

    view.object(large)

    assert not view.takes_long(large)
