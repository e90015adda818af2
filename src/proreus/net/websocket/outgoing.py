"""Frames as they are sent: plain by a server, masked by a client (RFC 6455, 5.2)."""

from __future__ import annotations

_FINAL = 0x80
_MASKED = 0x80


def frame(payload: bytes, opcode: int) -> bytes:
    return _head(len(payload), opcode, 0) + payload


def masked_frame(payload: bytes, opcode: int, mask: bytes) -> bytes:
    """``mask``: four bytes that nobody can guess."""
    size = len(payload)
    repeated = (mask * (size // len(mask) + 1))[:size]
    hidden = int.from_bytes(payload, "little") ^ int.from_bytes(repeated, "little")
    return _head(size, opcode, _MASKED) + mask + hidden.to_bytes(size, "little")


def _head(size: int, opcode: int, masked: int) -> bytes:
    first = _FINAL | opcode
    if size < 126:
        return bytes((first, masked | size))
    if size < 65536:
        return bytes((first, masked | 126)) + size.to_bytes(2, "big")
    return bytes((first, masked | 127)) + size.to_bytes(8, "big")
