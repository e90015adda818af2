"""What follows an answer's head besides lengths and chunks: bytes until the connection ends, and
bodies in gzip. Pure."""

from __future__ import annotations

import zlib

# What is unpacked at once: a small body may become a large one.
PIECE_BYTES_MAX = 1024 * 1024
_GZIP = 31  # zlib's word for the largest window, in gzip's format


class BadGzip(Exception):
    """The body is not what its Content-Encoding says."""


class UntilClose:
    """Whatever comes; ``is_done`` never, the end of the connection says so."""

    is_done = False

    def take(self, data: bytes) -> tuple[bytes, bytes]:
        return data, b""


class Unpacking:
    """A body in gzip, of one member or several, as it arrives."""

    def __init__(self) -> None:
        self._packed = b""
        self._member = zlib.decompressobj(_GZIP)
        self._has_begun = False

    def feed(self, packed: bytes) -> None:
        self._packed += packed

    def next_piece(self) -> bytes:
        """At most ``PIECE_BYTES_MAX``; empty: there is nothing until more is fed. Raises
        BadGzip."""
        while self._packed:
            if self._member.eof:
                self._member, self._has_begun = zlib.decompressobj(_GZIP), False
            self._has_begun = True
            try:
                piece = self._member.decompress(self._packed, PIECE_BYTES_MAX)
            except zlib.error as error:
                raise BadGzip(str(error)) from error
            self._packed = self._member.unused_data or self._member.unconsumed_tail
            if piece:
                return piece
        return self._rest()

    def _rest(self) -> bytes:
        """What zlib holds back when the last piece was as long as allowed."""
        if not self._has_begun or self._member.eof:
            return b""
        return self._member.decompress(b"", PIECE_BYTES_MAX)

    def end(self) -> None:
        """The body is over. Raises BadGzip if it was cut."""
        if self._has_begun and not self._member.eof:
            raise BadGzip("the body ends in the middle")
