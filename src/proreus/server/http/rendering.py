"""Answers that take long to encode: made in slices on the loop, or in a thread, as they are sent.

A list is encoded object by object for a quarter of a millisecond, then others get their turn; what
was made is sent before more is made, so that a reader costs a piece of its list and not the list.
Lists that turn out to be short are answered whole.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import assert_never

from proreus.aio.clock import Clock
from proreus.net.http1.messages import Chunks
from proreus.server.audit.event import BODY_BYTES_MAX, AuditEvent
from proreus.server.http.negotiation import Choice, Media
from proreus.server.http.representation import Representation, encoded
from proreus.server.offload import Offload
from proreus.server.views import CborView, ProtobufView, RememberedView
from proreus.server.views.json_view import stored_size
from proreus.server.views.list_encodings import (
    IsDue,
    Piece,
    cbor_pieces,
    indented_pieces,
    json_pieces,
    protobuf_pieces,
    remembered_cbor_pieces,
    yaml_pieces,
)
from proreus.server.views.response import ListParts
from proreus.server.watch_cache.object import EncodedObject
from proreus.server.watch_cache.query import ListResult

GZIP_BYTES_MIN = 128 * 1024
_GZIP_LEVEL = 1
_GZIP_FORMAT = 31  # zlib's word for "with a gzip header"
_GZIP_PIECE_BYTES = 128 * 1024
_SLICE_S = 0.00025
# Lists of fewer objects begin without waiting: most take less than a slice.
_FEW = 100
_COUNTED = 1_000  # objects whose bytes are counted in one slice: 0.1 ms


class Rendering:
    def __init__(self, offload: Offload, clock: Clock) -> None:
        self._offload = offload
        self._clock = clock

    async def document(self, choice: Choice, body: bytes) -> bytes:
        """A JSON body in the requested encoding."""
        if len(body) <= _at_once_bytes(choice):
            return encoded(choice, body)
        return await self._offload.answers.run(lambda: encoded(choice, body))

    async def object(self, view: RememberedView, obj: EncodedObject) -> bytes:
        if view.takes_long(obj):
            return await self._offload.answers.run(partial(view.object, obj))
        return view.object(obj)

    async def listing(
        self, representation: Representation, listing: ListResult, token: str, *, gzip: bool
    ) -> bytes | Chunks:
        """A list in the requested encoding: whole if it is short, else to be sent as it is made.

        What is whole is not compressed yet. Raises what its first pieces raise.
        """
        pieces = self._pieces(representation, listing, token)
        first, size = list[bytes](), 0
        async for piece in pieces:
            first.append(piece)
            size += len(piece)
            if size >= GZIP_BYTES_MIN:
                break
        else:
            return b"".join(first)
        rest = _chained(first, pieces)
        return Chunks(self._compressed(rest) if gzip else rest)

    async def stored_size(self, listing: ListResult) -> int:
        size = 0
        for at in range(0, len(listing.objects), _COUNTED):
            if at:
                await self._offload.turns.wait()
            size += stored_size(listing.objects[at : at + _COUNTED])
        return size

    async def record(
        self, event: AuditEvent, representation: Representation, listing: ListResult, token: str
    ) -> None:
        """A list as JSON, whatever encoding was asked for; not at all if it is too long."""
        pieces, size = list[bytes](), 0
        parts = representation.view.parts(listing, continue_token=token)
        is_long = len(listing.objects) > _FEW
        async for piece in self._sliced(lambda due: json_pieces(parts, due), is_long=is_long):
            pieces.append(piece)
            size += len(piece)
            if size > BODY_BYTES_MAX:
                event.omit_bodies()
                return
        event.set_response_object(b"".join(pieces))

    async def compressed(self, body: bytes) -> bytes:
        return await self._offload.compression.run(lambda: _gzip(body))

    async def joined(self, make: Callable[[IsDue], Iterator[Piece]]) -> bytes:
        """What takes long to make but is not large."""
        return b"".join([piece async for piece in self._sliced(make, is_long=True)])

    def _pieces(
        self, representation: Representation, listing: ListResult, token: str
    ) -> AsyncIterator[bytes]:
        return self._sliced(
            lambda is_due: _encoder(representation, listing, token, is_due),
            is_long=len(listing.objects) > _FEW,
        )

    async def _sliced(
        self, make: Callable[[IsDue], Iterator[Piece]], *, is_long: bool
    ) -> AsyncIterator[bytes]:
        turns, until_s = self._offload.turns, self._clock.monotonic() + _SLICE_S

        def is_due() -> bool:
            return self._clock.monotonic() >= until_s

        if is_long:
            await turns.wait()
            until_s = self._clock.monotonic() + _SLICE_S
        pieces = make(is_due)
        while True:
            if is_due():
                await turns.wait()
                until_s = self._clock.monotonic() + _SLICE_S
            piece = next(pieces, None)
            if piece is None:
                return
            if not isinstance(piece, bytes):
                piece = await self._offload.answers.run(piece)
            if piece:
                yield piece

    async def _compressed(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        packer = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_FORMAT)
        waiting, size = list[bytes](), 0
        async for piece in pieces:
            waiting.append(piece)
            size += len(piece)
            if size >= _GZIP_PIECE_BYTES:
                body, waiting, size = b"".join(waiting), [], 0
                yield await self._offload.compression.run(partial(packer.compress, body))
        yield packer.compress(b"".join(waiting)) + packer.flush()


async def _chained(first: list[bytes], rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield b"".join(first)
    first.clear()
    async for piece in rest:
        yield piece


def _encoder(
    representation: Representation, listing: ListResult, token: str, is_due: IsDue
) -> Iterator[Piece]:
    parts = representation.view.parts(listing, continue_token=token)
    match representation.remembered:
        case ProtobufView() as view:
            return protobuf_pieces(view, parts, listing.objects, is_due)
        case CborView() as view:
            return remembered_cbor_pieces(view, parts, listing.objects, is_due)
        case None:
            return _encoded_parts(representation.choice, parts, is_due)
        case _:
            assert_never(representation.remembered)


def _encoded_parts(choice: Choice, parts: ListParts, is_due: IsDue) -> Iterator[Piece]:
    match choice.media:
        case Media.YAML:
            return yaml_pieces(parts, is_due)
        case Media.CBOR:
            return cbor_pieces(parts, is_due)
        case Media.JSON if choice.pretty:
            return indented_pieces(parts, is_due)
        case Media.JSON:
            return json_pieces(parts, is_due)
        case Media.PROTOBUF:
            raise AssertionError("tables have no protobuf form, all else is remembered")
        case _:
            assert_never(choice.media)


def _at_once_bytes(choice: Choice) -> float:
    """What is shorter is encoded on the loop: in some ten milliseconds at most."""
    match choice.media:
        case Media.JSON:
            return 2 * 1024 * 1024 if choice.pretty else math.inf
        case Media.YAML:
            return 16 * 1024
        case Media.PROTOBUF | Media.CBOR:
            return 128 * 1024
        case _:
            assert_never(choice.media)


def _gzip(body: bytes) -> bytes:
    packer = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_FORMAT)
    return packer.compress(body) + packer.flush()
