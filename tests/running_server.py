"""A real ``proreus server`` in a process of its own, as users start it."""

from __future__ import annotations

import base64
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml


@dataclass(frozen=True, slots=True)
class RunningServer:
    """Where a started server answers, and how to be let in."""

    url: str
    kubeconfig: Path
    token: str
    ca_file: Path
    process: subprocess.Popen[str]

    @property
    def environment(self) -> dict[str, str]:
        """The caller's environment with KUBECONFIG pointing here and kubectl's caches beside it."""
        home = str(self.kubeconfig.parent)
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": home}


@contextlib.contextmanager
def running_server(data_dir: Path, *flags: str, command: str = "server") -> Iterator[RunningServer]:
    """Start the command on a free port, wait until it says that it is ready, end it afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-m", "proreus.cli.main", command]
        + ["--data-dir", str(data_dir), "--port", "0", *flags],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        kubeconfig = Path(_kubeconfig_of_ready_line(process))
        yield _described(kubeconfig, data_dir, process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        assert process.stdout
        process.stdout.close()


def _kubeconfig_of_ready_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    said: list[str] = []
    for line in process.stdout:
        said.append(line)
        if "export KUBECONFIG=" in line:
            return line.split("export KUBECONFIG=", 1)[1].strip()
    raise AssertionError(f"the server ended without becoming ready: {''.join(said)}")


def _described(kubeconfig: Path, data_dir: Path, process: subprocess.Popen[str]) -> RunningServer:
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    ca_file = data_dir / "ca-for-tests.crt"
    if "certificate-authority-data" in cluster:
        ca_file.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    else:
        ca_file = Path(cluster["certificate-authority"])
    return RunningServer(cluster["server"], kubeconfig, user.get("token", ""), ca_file, process)
