"""Checks a client's WebSocket frames before aiohttp's reader gets them: masked, and not too long.

The reader assembles a message before anybody can take the first byte of it, so a stream would need
the memory of its longest message at every hop. Clients may send 32 MiB in one; on a stream of bytes
the borders of messages mean nothing, so here a long message becomes several short ones as it
arrives. Nothing is kept back and nothing is unmasked: pieces are cut so that the mask fits them.

Messages sent in fragments (few clients do) are left to the reader, which bounds them.
"""

from __future__ import annotations

from proreus.lazy_dataclass import dataclass

PIECE_BYTES = 64 * 1024  # a multiple of 4: a mask has 4 bytes, base64 has groups of 4

_FINAL, _MASKED = 0x80, 0x80
_TEXT, _BINARY = 0x1, 0x2
_MASK_BYTES = 4
_LENGTH_BYTES = {126: 2, 127: 8}  # by what the second byte says instead of a length
_EIGHT_BYTES = 127


class NotMasked(Exception):
    """A client must mask its frames (RFC 6455, 5.1)."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Long messages are delivered in pieces, each beginning with the first ``prefix_bytes`` (0 or
    1) of its message. The pieces are binary messages: a character may be cut in two.
    One of ``message_bytes_max`` and more stays whole, for the reader to refuse."""

    prefix_bytes: int
    message_bytes_max: int


class ClientFrames:
    """Sees a connection's bytes in order, however they are cut. After NotMasked it is of no use."""

    __slots__ = ("_cut", "_head", "_mask", "_message_left", "_payload_left", "_prefix")

    def __init__(self, cut: Cut | None = None) -> None:
        self._cut = cut
        self._head = b""  # of the frame that has begun
        self._payload_left = 0  # of the frame that is passed on
        self._message_left = 0  # behind it, of the message that is cut
        self._prefix: bytes | None = None  # its first bytes, masked; None until they are here
        self._mask = b""

    def passed(self, data: bytes) -> bytes:
        """What the reader is to be fed. Raises NotMasked."""
        passed: list[bytes] = []
        at = 0
        while at < len(data):
            if self._payload_left:
                step = min(self._payload_left, len(data) - at)
                passed.append(self._payload(data[at : at + step]))
            elif self._message_left:
                passed.append(self._next_piece())
                continue
            else:
                step = self._head_bytes() - len(self._head)
                self._head += data[at : at + step]
                passed.append(self._begun())
            at += step
        return b"".join(passed)

    def _payload(self, piece: bytes) -> bytes:
        self._payload_left -= len(piece)
        if self._prefix is None and self._cut is not None:
            self._prefix = piece[: self._cut.prefix_bytes]
        return piece

    def _head_bytes(self) -> int:
        if len(self._head) < 2:
            return 2
        return 2 + _LENGTH_BYTES.get(self._head[1] & 0x7F, 0) + _MASK_BYTES

    def _begun(self) -> bytes:
        """The head, once it is whole: as it came, or of a message's first piece."""
        head = self._head
        if len(head) >= 2 and not head[1] & _MASKED:
            raise NotMasked
        if len(head) < self._head_bytes():
            return b""
        self._head = b""
        self._mask = head[-_MASK_BYTES:]
        extended = head[2:-_MASK_BYTES]
        size = int.from_bytes(extended, "big") if extended else head[1] & 0x7F
        self._prefix = b""
        cut = self._cut
        is_whole = head[0] in (_FINAL | _TEXT, _FINAL | _BINARY)
        first = PIECE_BYTES + cut.prefix_bytes if cut is not None else size
        if cut is None or not is_whole or not first < size < cut.message_bytes_max:
            self._payload_left = size
            return head
        self._prefix = None
        self._payload_left, self._message_left = first, size - first
        return self._piece_head(first)

    def _next_piece(self) -> bytes:
        assert self._prefix is not None, "the first piece was not empty"
        self._payload_left = min(PIECE_BYTES, self._message_left)
        self._message_left -= self._payload_left
        return self._piece_head(len(self._prefix) + self._payload_left) + self._prefix

    def _piece_head(self, size: int) -> bytes:
        length = bytes((_MASKED | _EIGHT_BYTES,)) + size.to_bytes(8, "big")
        return bytes((_FINAL | _BINARY,)) + length + self._mask
