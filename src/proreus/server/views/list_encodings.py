"""Lists in each encoding, in pieces: made a slice at a time, while they are sent.

A piece is bytes, or work that makes them where one object alone takes too long for the loop.
``is_due`` says that a slice has taken long enough; it is asked after each object. A piece may be
empty: then only time has passed. No more of a list is held than a piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

from proreus.api.wire import json
from proreus.server.views.cbor_view import CborView
from proreus.server.views.encodings import type_of
from proreus.server.views.protobuf_view import ProtobufView
from proreus.server.views.remembered_encodings import ENTRY_BYTES
from proreus.server.views.remembered_view import AT_ONCE_BYTES, RememberedView
from proreus.server.views.response import PIECE_BYTES, ListParts
from proreus.server.watch_cache.object import EncodedObject

Piece = bytes | Callable[[], bytes]
IsDue = Callable[[], bool]

# The JSON of one object that takes some 20 ms to encode.
_YAML_ALONE_BYTES = 16 * 1024
# Protobuf begins with its size. What is longer is looked up twice rather than kept.
_KEPT_BYTES = 1024 * 1024


def never_due() -> bool:
    return False


def json_pieces(parts: ListParts, is_due: IsDue = never_due) -> Iterator[bytes]:
    between = parts.head + b"["
    for items in _slices(parts.items, is_due):
        yield between + b",".join(items)
        between = b","
    yield b"]}\n" if between == b"," else parts.head + parts.empty + b"}\n"


def indented_pieces(parts: ListParts, is_due: IsDue = never_due) -> Iterator[bytes]:
    """As ``encodings.indented``: two spaces, and no line feed at the end."""
    head, between = _head(parts), b""
    for items in _slices(parts.items, is_due):
        texts = [_indented(item) for item in items]
        start = between or json.encode_pretty(head).removesuffix(b"\n}") + _list_start(parts.field)
        yield start + b",".join(texts)
        between = b","
    if between:
        yield b"\n  ]\n}"
    else:
        yield json.encode_pretty({**head, parts.field: json.decode(parts.empty)})


def _indented(item: bytes) -> bytes:
    return b"\n    " + json.encode_pretty(json.decode(item)).replace(b"\n", b"\n    ")


def _list_start(field: str) -> bytes:
    return b',\n  "%b": [' % field.encode()


def yaml_pieces(parts: ListParts, is_due: IsDue = never_due) -> Iterator[Piece]:
    from proreus.api.wire import yaml  # few ask for it, and it is slow to load

    def item(source: bytes) -> bytes:
        return yaml.encode([json.decode(source)])

    head, field = _head(parts), parts.field
    before = {key: value for key, value in head.items() if key < field}
    after = {key: value for key, value in head.items() if key > field}
    items = iter(parts.items)
    if (first := next(items, None)) is None:
        yield yaml.encode({**head, field: json.decode(parts.empty)})
        return
    yield yaml.encode(before) + field.encode() + b":\n"
    made = _made(chain((first,), items), item, _YAML_ALONE_BYTES)
    yield from _joined(made, is_due)
    if after:
        yield yaml.encode(after)


def cbor_pieces(parts: ListParts, is_due: IsDue = never_due) -> Iterator[Piece]:
    """Of what is not remembered: tables."""
    from proreus.api.wire import cbor

    def item(source: bytes) -> bytes:
        return cbor.encode_item(json.decode(source))

    return _cbor_list(parts, _made(parts.items, item, AT_ONCE_BYTES), is_due)


def remembered_cbor_pieces(
    view: CborView, parts: ListParts, objects: Sequence[EncodedObject], is_due: IsDue = never_due
) -> Iterator[Piece]:
    """``parts`` are those of the view in JSON, of which only the head is taken."""
    return _cbor_list(parts, _remembered(view, objects, view.item), is_due)


def _cbor_list(parts: ListParts, items: Iterator[Piece], is_due: IsDue) -> Iterator[Piece]:
    """The list's own field is last, and its length is not said before its end."""
    from proreus.api.wire import cbor

    head = _head(parts)
    begun = [cbor.SELF_DESCRIBED, cbor.map_start(len(head) + 1)]
    for key, value in head.items():
        begun += (cbor.encode_item(key), cbor.encode_item(value))
    begun.append(cbor.encode_item(parts.field))
    if (first := next(items, None)) is None:
        yield b"".join(begun) + cbor.encode_item(json.decode(parts.empty))
        return
    yield b"".join(begun) + cbor.BEGIN_LIST
    yield from _joined(chain((first,), items), is_due)
    yield cbor.END_LIST


def protobuf_pieces(
    view: ProtobufView,
    parts: ListParts,
    objects: Sequence[EncodedObject],
    is_due: IsDue = never_due,
) -> Iterator[Piece]:
    """``parts`` are those of the view in JSON, of which only the head is taken.

    Raises ProtobufError with the first piece if its kind has no message.
    """
    from proreus.api.wire import protobuf

    head = _head(parts)
    writer = protobuf.ListWriter(head, type_of(head), parts.field)
    size, kept = 0, list[bytes]()
    for written in _remembered(view, objects, writer.item):
        if not isinstance(written, bytes):
            alone = _Alone(written)
            yield alone
            written = alone.outcome
        size += len(written)
        if size <= _KEPT_BYTES:
            kept.append(written)
        elif kept:
            kept.clear()
        if is_due():
            yield b""
    yield writer.start(size)
    if size <= _KEPT_BYTES:
        yield b"".join(kept)
    else:
        yield from _joined(_remembered(view, objects, writer.item), is_due)
    yield writer.end


def _made(
    sources: Iterable[bytes], item: Callable[[bytes], bytes], alone_bytes: int
) -> Iterator[Piece]:
    """The items one after the other; one of more than ``alone_bytes`` is work for elsewhere."""
    for source in sources:
        yield partial(item, source) if len(source) > alone_bytes else item(source)


def _remembered(
    view: RememberedView, objects: Sequence[EncodedObject], item: Callable[[bytes], bytes]
) -> Iterator[Piece]:
    """As ``_made``. The first objects of a very long list are remembered, not the last ones, which
    would have pushed out the first before they are asked for again."""
    size, most = 0, view.list_bytes_max

    def work(obj: EncodedObject, *, is_kept: bool) -> bytes:
        return item(view.encoding(obj, is_kept=is_kept))

    for obj in objects:
        size += 2 * len(obj.item) + ENTRY_BYTES  # its encoding is about as long as its JSON
        is_kept = size < most
        if view.takes_long(obj):
            yield partial(work, obj, is_kept=is_kept)
        else:
            yield item(view.encoding(obj, is_kept=is_kept))


def _joined(items: Iterable[Piece], is_due: IsDue) -> Iterator[Piece]:
    """Items in pieces; one that is work is a piece of its own."""
    texts, size = list[bytes](), 0
    for item in items:
        if isinstance(item, bytes):
            texts.append(item)
            size += len(item)
        else:
            yield b"".join(texts)
            texts, size = [], 0
            yield item
        if size >= PIECE_BYTES or is_due():
            yield b"".join(texts)
            texts, size = [], 0
    yield b"".join(texts)


class _Alone:
    """Work whose outcome is not sent but read here, once it is done."""

    __slots__ = ("_work", "outcome")

    def __init__(self, work: Callable[[], bytes]) -> None:
        self._work = work
        self.outcome = b""

    def __call__(self) -> bytes:
        self.outcome = self._work()
        return b""


def _head(parts: ListParts) -> dict[str, Any]:
    """All fields but the list's own."""
    head: dict[str, Any] = json.decode(parts.head + b"null}")
    del head[parts.field]
    return head


def _slices(items: Iterator[bytes], is_due: IsDue) -> Iterator[list[bytes]]:
    found, size = list[bytes](), 0
    for item in items:
        found.append(item)
        size += len(item)
        if size >= PIECE_BYTES or is_due():
            yield found
            found, size = [], 0
    if found:
        yield found
