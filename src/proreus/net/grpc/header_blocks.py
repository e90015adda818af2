"""Heads of requests as bytes, and heads of answers read (HPACK, RFC 7541).

Neither uses HPACK's memory of earlier headers: requests have literals alone, so that a block can be
kept and sent again, and the peer is told to remember nothing. Then equal blocks are equal heads,
and one that came before is found by its bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from hpack import Decoder
from hpack.exceptions import HPACKError

from proreus.lazy_dataclass import dataclass
from proreus.net.http2.frames import ErrorCode, ProtocolBroken

Metadata = tuple[tuple[str, str], ...]

_POST = b"\x83"  # of HPACK's fixed table
_SCHEMES = {"http": b"\x86", "https": b"\x87"}
_PLAIN, _NEVER_INDEXED = b"\x00", b"\x10"
_SECRET_NAMES = frozenset({"token", "authorization"})
_KNOWN_MAX = 128  # heads; of calls that succeed there are two
_HEAD_BYTES_MAX = 64 * 1024


def request_block(
    scheme: str, authority: str, path: str, metadata: Metadata, timeout_s: float | None
) -> bytes:
    headers = [
        (":path", path),
        (":authority", authority),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        ("user-agent", "proreus"),
        *metadata,
    ]
    if timeout_s is not None:
        headers.append(("grpc-timeout", f"{max(1, min(round(timeout_s * 1000), 99_999_999))}m"))
    return _POST + _SCHEMES[scheme] + b"".join(map(_literal, *zip(*headers, strict=True)))


def _literal(name: str, value: str) -> bytes:
    form = _NEVER_INDEXED if name in _SECRET_NAMES else _PLAIN
    return form + _string(name.encode()) + _string(value.encode())


def _string(value: bytes) -> bytes:
    """Without Huffman's code: its length as an integer with a prefix of seven bits."""
    rest = len(value)
    if rest < 0x7F:
        return bytes((rest,)) + value
    length, rest = bytearray(b"\x7f"), rest - 0x7F
    while rest >= 0x80:
        length.append(rest & 0x7F | 0x80)
        rest >>= 7
    length.append(rest)
    return bytes(length) + value


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """The head of an answer or its trailers; None: it has no such header.

    ``begins_answer``: what follows is the peer's answer; ``is_success``: it was, and is over.
    """

    http_status: int | None
    grpc_status: int | None
    grpc_message: str
    begins_answer: bool
    is_success: bool


class AnswerHeads:
    """Reads the heads of one connection, in the order they came in."""

    def __init__(self) -> None:
        self._decoder = Decoder(max_header_list_size=_HEAD_BYTES_MAX)
        # What these blocks say, as long as it is the same each time; for reading only.
        self.known: dict[bytes, AnswerHead] = {}

    def read(self, block: bytes) -> AnswerHead:
        """Raises ProtocolBroken."""
        known = self.known.get(block)
        if known is not None:
            return known
        is_bare = not self._decoder.header_table.dynamic_entries
        try:
            head = _head(self._decoder.decode(block, raw=True))
        except (HPACKError, ValueError) as wrong:
            raise ProtocolBroken(
                ErrorCode.PROTOCOL_ERROR, f"a head that cannot be read: {wrong!r}"
            ) from wrong
        # Until the peer has read our settings it may remember headers, and blocks depend on them.
        if self._decoder.header_table.dynamic_entries or len(self.known) >= _KNOWN_MAX:
            self.known.clear()
        elif is_bare:
            self.known[block] = head
        return head


def _head(headers: Iterable[tuple[bytes, bytes]]) -> AnswerHead:
    http_status = grpc_status = None
    message = ""
    for name, value in headers:
        if name == b":status":
            http_status = int(value)
        elif name == b"grpc-status":
            grpc_status = int(value)
        elif name == b"grpc-message":
            message = unquote(value.decode("ascii", "replace"))
    begins_answer = http_status is not None and http_status < 300
    return AnswerHead(http_status, grpc_status, message, begins_answer, grpc_status == 0)
