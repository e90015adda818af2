"""What a person sees of ``proreus up`` on a terminal, and what a program may rely on."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from proreus.cli.kubectl import advice_on
from proreus.cli.ready import Announcement, banner, plain

CLUSTER = Announcement(
    "proreus",
    "https://127.0.0.1:6443",
    kubeconfig=Path("/home/ann/my data/kubeconfig"),
    data_dir=Path("/home/ann/my data"),
    nodes=3,
    runtime="simulated",
    pages=(("dashboard", "https://127.0.0.1:6443/dashboard/"),),
)


def test_a_person_sees_where_it_is_what_to_try_and_how_to_end_it() -> None:
    text = "\n".join(banner(CLUSTER, "kubectl is v1.20.2: …"))

    assert re.match(r"proreus \d+\.\d+\.\d+ is ready at https://127.0.0.1:6443\n", text)
    assert re.search(r"nodes +3\n.*runtime +simulated\n.*data +/home/ann/my data\n", text)
    assert re.search(r"dashboard +https://127.0.0.1:6443/dashboard/\n", text)
    assert "  export KUBECONFIG='/home/ann/my data/kubeconfig'\n" in text
    assert text.count("\n  kubectl ") == 3
    assert "kubectl is v1.20.2" in text
    assert text.endswith("Ctrl-C ends it; the next start finds everything.")


def test_a_program_reads_the_same_lines_from_every_version() -> None:
    assert plain(CLUSTER) == [
        "proreus is ready at https://127.0.0.1:6443",
        "kubeconfig: /home/ann/my data/kubeconfig",
        "export KUBECONFIG='/home/ann/my data/kubeconfig'",
        "nodes: 3",
        "runtime: simulated",
        "data: /home/ann/my data",
        "dashboard: https://127.0.0.1:6443/dashboard/",
    ]


def test_a_server_without_nodes_suggests_nothing_that_needs_them() -> None:
    text = "\n".join(
        banner(Announcement("proreus server", "https://[::1]:1", kubeconfig=Path("/k")))
    )

    assert "kubectl create deployment" not in text
    assert "kubectl api-resources" in text


@pytest.mark.parametrize("version", ["v1.31.0", "v1.37.2+k3s1", "v1.100.0", "", "unknown"])
def test_a_kubectl_that_will_do_is_not_spoken_of(version: str) -> None:
    assert advice_on(version) == ""


def test_an_old_kubectl_is_said_with_what_it_cannot_do() -> None:
    assert advice_on("v1.20.2") == (
        "kubectl is v1.20.2: exec, attach and port-forward need 1.31 or newer, everything else "
        "works"
    )


def test_on_a_terminal_without_kubectl_it_says_what_to_install(tmp_path: Path) -> None:
    terminal, its_end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "proreus.cli.main", "server"]
        + ["--data-dir", str(tmp_path), "--port", "0"],
        stdout=its_end, stderr=subprocess.PIPE, env={**os.environ, "PATH": str(tmp_path)},
    )  # fmt: skip
    os.close(its_end)
    try:
        said = _read_until(terminal, "Ctrl-C ends it")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        os.close(terminal)

    assert "kubectl is not here: install it" in said
    assert process.returncode == 0


def _read_until(terminal: int, text: str) -> str:
    said, give_up = "", time.monotonic() + 60
    while text not in said:
        assert time.monotonic() < give_up, said
        said += os.read(terminal, 4096).decode()
    return said
