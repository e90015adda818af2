"""What an owner and its workers tell each other, over a socket pair that is the worker's stdin.

To the worker: its configuration, once; nothing follows, and the end of the stream says that the
owner is gone. To the owner: one line, Answering or Failed.
"""

from __future__ import annotations

import json
import pickle
import socket
from dataclasses import dataclass

from proreus.server.config import ServerConfig

_SIZE_BYTES = 4
_LINE_MAX = 64 * 1024


@dataclass(frozen=True, slots=True)
class Answering:
    """It answers requests."""


@dataclass(frozen=True, slots=True)
class Failed:
    """It could not start; ``why`` is one sentence."""

    why: str


Report = Answering | Failed


def encoded_config(config: ServerConfig) -> bytes:
    body = pickle.dumps(config)
    return len(body).to_bytes(_SIZE_BYTES) + body


def receive_config(line: socket.socket) -> ServerConfig:
    """Waits for it. Only an owner can have written it: nobody else has the other end. Raises
    EOFError."""
    config = pickle.loads(_received(line, int.from_bytes(_received(line, _SIZE_BYTES))))
    assert isinstance(config, ServerConfig)
    return config


def _received(line: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        piece = line.recv(size - len(found))
        if not piece:
            raise EOFError("the owner is gone")
        found += piece
    return found


def encoded_report(report: Report) -> bytes:
    match report:
        case Answering():
            said = {}
        case Failed(why=why):
            said = {"failed": why[: _LINE_MAX // 8]}
    return json.dumps(said).encode() + b"\n"


def decoded_report(text: bytes) -> Report:
    """b"": the worker ended without a word."""
    if not text.endswith(b"\n"):
        return Failed("it ended before it was ready")
    why = json.loads(text).get("failed")
    return Answering() if why is None else Failed(str(why))
