"""Slopes and runs, measured and kept beside this file, so that tables and pictures can be made of
them again."""

from __future__ import annotations

import asyncio
import datetime
import platform
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from benchmarks._results import pace
from benchmarks.api_server._server import ServerProcess, running_server
from benchmarks.scale import slopes
from benchmarks.scale.checks import SHARES, Check, check
from benchmarks.scale.hollow import Hollow
from benchmarks.scale.model import SharedSlopes
from benchmarks.scale.shared import measure_shared
from benchmarks.scale.slopes import Measured, SlopeMeasurement

FILE = Path(__file__).with_name("measured.json")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Measurement:
    at: str
    python: str
    pace: pace.Pace
    measured: Measured
    shared: SharedSlopes
    checks: tuple[Check, ...]


def measure(shares: tuple[float, ...] = SHARES) -> Measurement:
    before = pace.samples_ms()
    measured = _on_a_server(_slopes)
    checks = tuple(_on_a_server(partial(check, share=share)) for share in shares)
    return Measurement(
        at=datetime.datetime.now(datetime.UTC).date().isoformat(),
        python=platform.python_version(),
        pace=pace.Pace.of(before + pace.samples_ms()),
        measured=measured,
        shared=measure_shared(),
        checks=checks,
    )


async def _slopes(server: ServerProcess, folder: Path) -> Measured:
    async with Hollow(server, slopes.CLUSTER).open() as hollow:
        return await SlopeMeasurement(server, folder, hollow).all()


def _on_a_server(ask: Callable[[ServerProcess, Path], Awaitable[Answer]]) -> Answer:
    """On SQLite, in a process of its own, with an empty store."""

    async def asked(server: ServerProcess, folder: Path) -> Answer:
        return await ask(server, folder)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "data"
        with running_server(folder, Path(name) / "bytecode") as server:
            return asyncio.run(asked(server, folder))


def keep(measurement: Measurement, file: Path = FILE) -> None:
    file.write_bytes(msgspec.json.format(msgspec.json.encode(measurement)) + b"\n")


def kept(file: Path = FILE) -> Measurement:
    return msgspec.json.decode(file.read_bytes(), type=Measurement)
