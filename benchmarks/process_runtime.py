"""Containers as processes: what a start costs the kubelet, and what its output does."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from benchmarks.report import CpuTimer, Row
from proreus.aio.clock import SystemClock
from proreus.cluster.kubelet.runtimes.process.log_files import LogWriter, prepare_log_folder
from proreus.cluster.kubelet.runtimes.process.log_reading import read_log
from proreus.cluster.kubelet.runtimes.process.processes import Command, spawn
from proreus.cluster.kubelet.runtimes.streams import LogOptions

_STARTS = 100
_LINE = "a line of a usual length, about eighty characters long, as many programs write them"
_OUTPUT_BYTES = 30_000_000


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder)))


async def _measure(folder: Path) -> list[Row]:
    starts = await _start(folder)
    writing, megabytes = await _write(folder)
    with CpuTimer() as tail:
        async for _ in read_log(folder / "0", LogOptions(tail_lines=100), None):
            pass
    return [
        Row("a process started, waited for and cleared", starts.cpu_s / _STARTS * 1e3, "ms CPU"),
        Row("a megabyte of output taken into the log", writing.cpu_s / megabytes * 1e3, "ms CPU"),
        Row(f"the last 100 lines of {megabytes:.0f} MB", tail.cpu_s * 1e3, "ms CPU"),
    ]


def _command(folder: Path, *arguments: str) -> Command:
    return Command(arguments, dict(os.environ), folder)


async def _start(folder: Path) -> CpuTimer:
    ballast = [str(number) for number in range(1_000_000)]  # a process of a usual size
    with CpuTimer() as spent:
        for _ in range(_STARTS):
            process = spawn(_command(folder, "true"))
            await process.wait()
            process.ends.close()
    assert ballast
    return spent


async def _write(folder: Path) -> tuple[CpuTimer, float]:
    prepare_log_folder(folder, 0)
    writer = LogWriter(folder / "0", SystemClock().now)
    script = f"yes '{_LINE}' | head -c {_OUTPUT_BYTES}"
    process, size = spawn(_command(folder, "sh", "-c", script)), 0
    with CpuTimer() as spent:
        async for piece in process.ends.stdout:
            writer.write("stdout", piece)
            size += len(piece)
    await process.wait()
    process.ends.close()
    writer.close()
    return spent, size / 1e6
