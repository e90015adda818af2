"""gRPC messages cut out of DATA: a byte that says "not compressed", four of length, the message."""

from __future__ import annotations

from struct import Struct

from proreus.net.grpc.failures import Code, RpcFailed

MESSAGE_BYTES_MAX = 1024**3
PREFIX_BYTES = 5
_PREFIX = Struct(">BL")
# Of a frame of DATA that is one message: size and kind as one number, flags, stream; the prefix.
MESSAGE_HEAD = Struct(">LBLBL")


def prefixed(message: bytes) -> bytes:
    return _PREFIX.pack(0, len(message)) + message


class Assembly:
    """The messages of one stream. Data is joined once per message, however many pieces it has."""

    __slots__ = ("_has", "_needs", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._has = 0
        self._needs = PREFIX_BYTES

    def add(self, data: bytes) -> list[bytes]:
        """Messages that are whole now. Raises RpcFailed."""
        self._pieces.append(data)
        self._has += len(data)
        if self._has < self._needs:
            return []
        whole = data if len(self._pieces) == 1 else b"".join(self._pieces)
        found: list[bytes] = []
        at, end = 0, len(whole)
        self._needs = PREFIX_BYTES
        while end - at >= PREFIX_BYTES:
            is_compressed, length = _PREFIX.unpack_from(whole, at)
            if is_compressed:
                raise RpcFailed(Code.INTERNAL, "a compressed message, which was not asked for")
            if length > MESSAGE_BYTES_MAX:
                raise RpcFailed(Code.RESOURCE_EXHAUSTED, f"a message of {length} bytes")
            ends_at = at + PREFIX_BYTES + length
            if ends_at > end:
                self._needs = PREFIX_BYTES + length
                break
            found.append(whole[at + PREFIX_BYTES : ends_at])
            at = ends_at
        self._pieces = [whole[at:]] if at < end else []
        self._has = end - at
        return found

    @property
    def is_between(self) -> bool:
        """No message has begun that is not whole."""
        return not self._has
