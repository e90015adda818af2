"""``proreus server``: what it refuses before it starts."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from proreus.cli.main import main


def test_plain_http_is_for_this_machine_only(tmp_path: Path) -> None:
    flags = ["--data-dir", str(tmp_path), "--insecure-http", "--bind-address", "0.0.0.0"]

    result = CliRunner().invoke(main, ["server", *flags])

    assert result.exit_code == 2
    assert "loopback addresses only" in result.output


def test_help_names_every_flag() -> None:
    text = CliRunner().invoke(main, ["server", "--help"]).output

    flags = ("--data-dir", "--bind-address", "--port", "--etcd", "--kubeconfig", "--insecure-http")
    assert [flag for flag in flags if flag not in text] == []


def test_an_unknown_command_is_refused() -> None:
    assert CliRunner().invoke(main, ["nope"]).exit_code == 2
