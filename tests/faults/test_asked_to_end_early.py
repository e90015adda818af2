"""SIGTERM while a server starts: it ends, as if it had been asked later, and nothing is lost.

Moments of a start are counted in CPU time, which passes however busy the machine is.
"""

from __future__ import annotations

import os
import random
import select
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.running_server import RunningServer, running_server

WITHIN_S = 60.0
MAPS = "/api/v1/namespaces/default/configmaps"

Process = subprocess.Popen[bytes]


@contextmanager
def starting(command: str, folder: Path, *flags: str) -> Iterator[Process]:
    """A process from its beginning on; killed if it is still there at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "proreus.cli.main", command]
        + ["--data-dir", str(folder), "--port", "0", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_until(process: Process, is_so: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + WITHIN_S
    while not is_so():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < give_up_at, "it did not come so far"
        time.sleep(0.001)


def takes_signals(process: Process) -> bool:
    """Before that the interpreter has not begun with the program."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    taken = int(status.partition("\nSigCgt:")[2].split()[0], 16)
    return bool(taken & 1 << (signal.SIGTERM - 1))


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def has_said_something(process: Process) -> bool:
    assert process.stdout is not None
    return bool(select.select([process.stdout], [], [], 0)[0])


def end(process: Process) -> None:
    process.send_signal(signal.SIGTERM)
    _, complaints = process.communicate(timeout=WITHIN_S)
    assert (process.returncode, complaints) == (0, b"")


def end_after(moment_s: float, command: str, folder: Path) -> None:
    """``moment_s``: of CPU; if it needs less, when it is ready."""
    with starting(command, folder) as process:
        wait_until(process, lambda: takes_signals(process))
        wait_until(process, lambda: cpu_s(process.pid) >= moment_s or has_said_something(process))
        end(process)


@contextmanager
def asking(server: RunningServer, folder: Path) -> Iterator[httpx.Client]:
    trust = ssl.create_default_context(cafile=str(server.ca_file))
    token = (folder / "admin.token").read_text().strip()
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=server.url, verify=trust, headers=headers, timeout=60) as client:
        yield client


@pytest.mark.parametrize(("command", "moments"), [("server", 4), ("up", 2)])
def test_a_start_may_be_ended_at_any_moment_and_the_next_one_finds_everything(
    command: str, moments: int, tmp_path: Path
) -> None:
    with running_server(tmp_path, command=command) as server, asking(server, tmp_path) as client:
        start_s = cpu_s(server.process.pid)
        kept = {"metadata": {"name": "kept"}}
        assert client.post(MAPS, json=kept).status_code == 201

    for number in range(moments):
        end_after(start_s * (number + random.random()) / moments, command, tmp_path)

    with running_server(tmp_path, command=command) as server, asking(server, tmp_path) as client:
        assert client.get(f"{MAPS}/kept").status_code == 200


@pytest.mark.parametrize("workers", ["1", "2"])
def test_who_waits_for_a_store_that_does_not_answer_ends_when_asked(
    workers: str, tmp_path: Path
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        etcd = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with starting("server", tmp_path, "--etcd", etcd, "--workers", workers) as process:
            asked, _ = silent.accept()
            with closing(asked):
                end(process)
