"""What a worker tells its owner, which sent it its configuration: one line, Answering or Failed."""

from __future__ import annotations

import json

from proreus.lazy_dataclass import dataclass

_LINE_MAX = 64 * 1024


@dataclass(frozen=True, slots=True)
class Answering:
    """It answers requests."""


@dataclass(frozen=True, slots=True)
class Failed:
    """It could not start; ``why`` is one sentence."""

    why: str


Report = Answering | Failed


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
