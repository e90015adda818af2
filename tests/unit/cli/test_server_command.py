"""``proreus server``: what it refuses before it starts, and what it says when it has."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
import yaml
from click.testing import CliRunner

from proreus.cli.main import main


def test_plain_http_is_for_this_machine_only(tmp_path: Path) -> None:
    flags = ["--data-dir", str(tmp_path), "--insecure-http", "--bind-address", "0.0.0.0"]

    result = CliRunner().invoke(main, ["server", *flags])

    assert result.exit_code == 2
    assert "loopback addresses only" in result.output


def test_plain_http_and_a_kubeconfig_exclude_each_other(tmp_path: Path) -> None:
    flags = ["--data-dir", str(tmp_path), "--insecure-http", "--kubeconfig", str(tmp_path / "k")]

    result = CliRunner().invoke(main, ["server", *flags])

    assert result.exit_code == 2
    assert "a kubeconfig needs TLS: kubectl and other clients send no credentials" in result.output


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--enable-admission-plugins", "Nope"], 'there is no admission plugin "Nope"; there are'),
        (["--disable-admission-plugins", "Priority, X"], 'there is no admission plugin "X"; there'),
        (
            ["--enable-admission-plugins=Priority", "--disable-admission-plugins=Priority"],
            "the admission plugin Priority cannot be both enabled and disabled",
        ),
    ],
)
def test_admission_plugins_that_cannot_be_had_are_refused_in_one_sentence(
    tmp_path: Path, flags: list[str], said: str
) -> None:
    result = CliRunner().invoke(main, ["server", "--data-dir", str(tmp_path), *flags])

    assert result.exit_code == 2
    assert said in result.output.replace("\n", " ")


def test_an_audit_policy_that_is_wrong_is_refused_in_one_sentence(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: All}]\n")
    flags = ["--audit-policy-file", str(policy), "--audit-log-path", str(tmp_path / "audit.log")]

    result = CliRunner().invoke(main, ["server", "--data-dir", str(tmp_path), *flags])

    assert result.exit_code != 0
    said = f'audit policy file {policy}: rules[0].level: Unsupported value: "All"'
    assert said in result.output


def test_a_file_of_authorizers_and_their_flags_exclude_each_other(tmp_path: Path) -> None:
    for flag in (("--authorization-mode", "RBAC"), ("--authorization-webhook-config", "w")):
        flags = ["--data-dir", str(tmp_path), "--authorization-config", "a", *flag]

        result = CliRunner().invoke(main, ["server", *flags])

        assert result.exit_code == 2
        assert "--authorization-config can not be specified when" in " ".join(result.output.split())


def test_a_webhook_without_its_file_is_refused(tmp_path: Path) -> None:
    flags = ["--data-dir", str(tmp_path), "--authorization-mode", "RBAC,Webhook"]

    result = CliRunner().invoke(main, ["server", *flags])

    assert result.exit_code == 2
    assert "authorization-mode Webhook's authorization config file not passed" in result.output


@contextlib.contextmanager
def started(*flags: str | Path, shell: str = "") -> Iterator[subprocess.Popen[str]]:
    """``proreus`` on a free port; ``shell``: what its output goes through."""
    command = shlex.join([sys.executable, "-m", "proreus.cli.main", *map(str, flags)])
    process = subprocess.Popen(
        ["sh", "-c", f"exec {command} --port 0 {shell}"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_plain_http_is_served_to_whoever_sends_the_token(tmp_path: Path) -> None:
    with started("server", "--data-dir", tmp_path, "--insecure-http") as process:
        assert process.stdout
        lines = [process.stdout.readline().rstrip("\n") for _ in range(3)]
        url, token = lines[0].rpartition(" ")[2], (tmp_path / "admin.token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}"}
        answer = httpx.get(f"{url}/api/v1/namespaces", headers=headers, timeout=60)
        stranger = httpx.get(f"{url}/api/v1/namespaces", timeout=60)

    assert lines[1:] == [
        f"token: {tmp_path / 'admin.token'}",
        "no kubeconfig: kubectl and other clients send no credentials over plain HTTP",
    ]
    assert (answer.status_code, stranger.status_code) == (200, 403)
    assert not (tmp_path / "kubeconfig").exists()


def test_readyz_passes_once_a_server_says_that_it_is_ready(tmp_path: Path) -> None:
    with started("server", "--data-dir", tmp_path, "--insecure-http") as process:
        assert process.stdout
        url = process.stdout.readline().split()[-1]
        answer = httpx.get(f"{url}/readyz", timeout=60)

    assert (answer.status_code, answer.text) == (200, "ok")


def test_the_line_to_export_can_be_pasted_whatever_the_folder_is_called(tmp_path: Path) -> None:
    folder = tmp_path / "it's $HOME; a folder"
    with started("server", "--data-dir", folder) as process:
        assert process.stdout
        lines = [process.stdout.readline() for _ in range(3)]

    script = f'{lines[2]}printf %s "$KUBECONFIG"'
    pasted = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60)
    assert pasted.stdout == str(folder / "kubeconfig")


def test_a_server_outlives_the_reader_of_its_output(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "proreus.cli.main", "server"]
        + ["--data-dir", str(tmp_path), "--port", "0"],
        stdout=writing, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(writing)
    os.close(reading)  # before it says anything, as a head that is quicker than its input
    kubeconfig = tmp_path / "kubeconfig"
    try:
        wait_until(kubeconfig.exists)
        url = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        wait_until(lambda: httpx.get(f"{url}/livez", verify=False).status_code == 200)
    finally:
        process.send_signal(signal.SIGINT)
        _, noise = process.communicate(timeout=60)

    assert (process.returncode, noise) == (0, "")


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("command", ["server", "up"])
def test_a_port_that_is_taken_is_reported_in_one_line(tmp_path: Path, command: str) -> None:
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


def test_workers_without_etcd_are_refused_in_one_sentence(tmp_path: Path) -> None:
    flags = ["--data-dir", str(tmp_path), "--workers", "2"]

    result = CliRunner().invoke(main, ["server", *flags])

    assert result.exit_code == 2
    said = "--workers needs --etcd: a SQLite file has one process, which is its only writer"
    assert said in " ".join(result.output.split())
    assert list(tmp_path.iterdir()) == []


def test_workers_that_cannot_start_are_reported_in_one_line(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "proreus.cli.main", "server", "--data-dir", str(tmp_path)]
        + ["--port", "0", "--workers", "2", "--etcd", "ftp://127.0.0.1:1"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert result.returncode == 1
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert result.stderr.startswith("Error: ")


def test_help_names_every_flag() -> None:
    text = CliRunner().invoke(main, ["server", "--help"]).output

    flags = ("--data-dir", "--bind-address", "--port", "--etcd", "--kubeconfig", "--insecure-http")
    assert [flag for flag in flags if flag not in text] == []


def test_an_unknown_command_is_refused() -> None:
    assert CliRunner().invoke(main, ["nope"]).exit_code == 2
