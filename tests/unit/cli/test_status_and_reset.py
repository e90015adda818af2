"""``proreus status``, ``reset`` and ``logs`` on the data folder of a server."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from proreus.cli.log_file import LogFileHandler, LogReader, log_file
from proreus.cli.main import main
from tests.running_server import running_server


def proreus(*arguments: str | Path, stdin: str = "") -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)), input=stdin)


@pytest.mark.parametrize("command", ["status", "logs", "dashboard"])
def test_a_folder_without_a_server_is_refused_with_what_to_do(tmp_path: Path, command: str) -> None:
    result = proreus(command, "--data-dir", tmp_path)

    assert result.exit_code == 1
    assert "`proreus up" in result.output
    assert result.output.count("\n") == 1


def test_a_server_is_said_to_run_is_not_reset_while_it_does_and_then_is(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with running_server(folder) as server:
        running = proreus("status", "--data-dir", folder)
        refused = proreus("reset", "--data-dir", folder, "--yes")
        without = proreus("dashboard", "--data-dir", folder)

    assert running.exit_code == 0, running.output
    assert f"server: {server.url} is ready, v1.37" in running.output
    assert "nodes: 0 of 0 ready\npods: none\n" in running.output
    assert refused.exit_code == 1
    assert "is in use by process" in refused.output
    assert without.exit_code == 1
    assert "serves no dashboard" in without.output

    ended = proreus("status", "--data-dir", folder)
    assert ended.exit_code == 1
    assert ended.output == f"server: {server.url} is not running; `proreus up` starts it\n"

    (folder / "ca-for-tests.crt").unlink()
    kept = proreus("reset", "--data-dir", folder, stdin="n\n")
    assert kept.exit_code == 1
    assert (folder / "objects.db").exists()

    assert proreus("reset", "--data-dir", folder, stdin="y\n").exit_code == 0
    assert not folder.exists()
    assert "there is nothing" in proreus("reset", "--data-dir", folder).output


def test_a_reset_leaves_what_is_not_a_servers(tmp_path: Path) -> None:
    (tmp_path / "objects.db").touch()
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "volumes" / "pvc-1_default_data").mkdir(parents=True)
    (tmp_path / "kubelet").symlink_to(tmp_path.parent)

    result = proreus("reset", "--data-dir", tmp_path, "--yes")

    assert result.exit_code == 0
    assert "notes.txt" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert tmp_path.parent.is_dir()


LINES = [
    {"timestamp": "2026-01-02T03:04:05.6Z", "level": "info", "event": "node registered", "node": 1},
    {
        "timestamp": "2026-01-02T03:04:06.6Z",
        "level": "error",
        "event": "part died",
        "exception": "Traceback (most recent call last):\nValueError: a bug",
    },
]


def test_logs_are_lines_for_people_with_tracebacks_on_request(tmp_path: Path) -> None:
    text = "".join(json.dumps(line) + "\n" for line in LINES)
    log_file(tmp_path).write_text(text + '{"level": "info", "event": "half a li')

    printed = proreus("logs", "--data-dir", tmp_path).output
    assert printed == (
        "2026-01-02 03:04:05 info     node registered node=1\n"
        "2026-01-02 03:04:06 error    part died: ValueError: a bug\n"
    )
    assert "node registered" not in proreus("logs", "--data-dir", tmp_path, "--tail", "1").output
    assert "registered" not in proreus("logs", "--data-dir", tmp_path, "--level", "error").output
    assert "Traceback" in proreus("logs", "--data-dir", tmp_path, "-v").output


def test_a_log_is_read_on_across_the_change_of_its_file(tmp_path: Path) -> None:
    path = log_file(tmp_path)
    path.write_text("a\nb\nhalf")
    with LogReader(tmp_path) as reader:
        assert reader.new_lines() == ["a\n", "b\n"]
        with path.open("a") as file:
            file.write("-done\n")
        path.rename(tmp_path / "proreus.log.1")
        path.write_text("c\n")

        assert reader.new_lines() == ["half-done\n", "c\n"]
        assert reader.new_lines() == []


def test_a_log_does_not_grow_without_end(tmp_path: Path) -> None:
    handler = LogFileHandler(tmp_path)
    line = "x" * (4 * 1024 * 1024 - 1)

    for number in range(8):
        handler.emit(logging.LogRecord("x", logging.INFO, "", 0, f"{number}{line}", (), None))
    handler.close()

    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert sizes == {"proreus.log": 2 * (len(line) + 2), "proreus.log.1": 3 * (len(line) + 2)}
    assert log_file(tmp_path).read_text()[0] == "6"
