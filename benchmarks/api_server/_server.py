"""The server as a process of its own, and what the kernel says it used."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import _process


@dataclass(frozen=True, slots=True)
class ServerProcess:
    pid: int
    port: int
    token: str
    ready_s: float

    def cpu_s(self) -> float:
        return _process.cpu_s(self.pid)

    def exact_cpu_s(self) -> float:
        """The same in nanoseconds, of the threads that live."""
        threads = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(one.read_text().split()[0]) for one in threads) / 1e9

    def resident_mb(self) -> float:
        return _process.resident_mb(self.pid)


@contextmanager
def running_server(
    folder: Path, bytecode: Path, *flags: str, under: Sequence[str] = ()
) -> Iterator[ServerProcess]:
    """``bytecode``: where compiled modules are kept, as an installed package has them. ``under``:
    the command of a tool that runs it."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(bytecode)
    command = [*under, sys.executable, "-m", "proreus.cli.main", "server"]
    command += ["--disable-admission-plugins", "ServiceAccount"]  # nobody makes accounts
    begun = time.monotonic()
    process = subprocess.Popen(
        [*command, "--data-dir", str(folder), "--port", "0", *flags],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        ready_s = time.monotonic() - begun
        token = (folder / "admin.token").read_text().strip()
        yield ServerProcess(process.pid, int(url.rpartition(":")[2]), token, ready_s)
    finally:
        process.terminate()
        process.wait(120 if under else 20)
