"""``proreus server``: what it refuses before it starts."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from proreus.cli.main import main


def test_plain_http_is_for_this_machine_only(tmp_path: Path) -> None:
    flags = ["--data-dir", str(tmp_path), "--insecure-http", "--bind-address", "0.0.0.0"]

    result = CliRunner().invoke(main, ["server", *flags])

    assert result.exit_code == 2
    assert "loopback addresses only" in result.output


@pytest.mark.parametrize("command", ["server", "up"])
def test_a_port_that_is_taken_is_told_in_one_line(tmp_path: Path, command: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = subprocess.run(
            [sys.executable, "-m", "proreus.cli.main", command]
            + ["--data-dir", str(tmp_path), "--port", str(port)],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip

    assert result.returncode == 1
    place = f"127.0.0.1:{port}"
    said = f"Error: {place} is in use by another program; --port 0 takes a free one\n"
    assert (result.stdout, result.stderr) == ("", said)


def test_help_names_every_flag() -> None:
    text = CliRunner().invoke(main, ["server", "--help"]).output

    flags = ("--data-dir", "--bind-address", "--port", "--etcd", "--kubeconfig", "--insecure-http")
    assert [flag for flag in flags if flag not in text] == []


def test_an_unknown_command_is_refused() -> None:
    assert CliRunner().invoke(main, ["nope"]).exit_code == 2
