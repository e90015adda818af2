"""``proreus backup`` and ``restore`` as an operator uses them."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from proreus.aio.clock import SystemClock
from proreus.cli.main import main
from proreus.server.storage.sqlite import SqliteStorage
from tests.real_etcd import started_etcd
from tests.running_server import running_server


def proreus(*arguments: str | Path, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)), input=stdin)


def keys(data_dir: Path) -> set[str]:
    async def read() -> set[str]:
        async with SqliteStorage.open(data_dir / "objects.db", SystemClock()) as storage:
            return {item.key for item in (await storage.list("/registry/")).items}

    return asyncio.run(read())


def store(data_dir: Path, *names: str) -> None:
    async def write() -> None:
        async with SqliteStorage.open(data_dir / "objects.db", SystemClock()) as storage:
            for name in names:
                await storage.create(f"/registry/things/{name}", b"{}")

    data_dir.mkdir(exist_ok=True)
    asyncio.run(write())


def test_a_running_server_is_backed_up_and_not_restored_into(tmp_path: Path) -> None:
    data, backup, other = tmp_path / "data", tmp_path / "backup", tmp_path / "other"
    with running_server(data):
        saved = proreus("backup", backup, "--data-dir", data)
        refused = proreus("restore", backup, "--data-dir", data, "--force")

    assert saved.exit_code == 0, saved.output
    assert " objects at revision " in saved.output
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert refused.exit_code == 1
    assert "is in use by process" in refused.output
    assert refused.output.count("\n") == 1

    restored = proreus("restore", backup, "--data-dir", other)
    assert restored.exit_code == 0, restored.output
    assert restored.output.endswith("clients resume where they were\n")
    assert keys(other) == keys(data)


def test_a_backup_goes_through_a_pipe(tmp_path: Path) -> None:
    store(tmp_path / "data", "a", "b")

    saved = proreus("backup", "-", "--data-dir", tmp_path / "data")
    restored = proreus("restore", "-", "--data-dir", tmp_path / "new", stdin=saved.stdout_bytes)

    assert saved.exit_code == 0, saved.stderr
    assert saved.stderr == "-: 2 objects at revision 3\n"
    assert restored.exit_code == 0, restored.output
    assert keys(tmp_path / "new") == keys(tmp_path / "data")


def test_objects_are_replaced_only_with_force(tmp_path: Path) -> None:
    store(tmp_path / "data", "a")
    proreus("backup", tmp_path / "backup", "--data-dir", tmp_path / "data")
    store(tmp_path / "data", "b")

    refused = proreus("restore", tmp_path / "backup", "--data-dir", tmp_path / "data")
    assert (refused.exit_code, len(keys(tmp_path / "data"))) == (1, 2)
    assert refused.output.endswith("has objects; --force replaces them\n")

    forced = proreus("restore", tmp_path / "backup", "--data-dir", tmp_path / "data", "--force")
    assert (forced.exit_code, len(keys(tmp_path / "data"))) == (0, 1)
    assert "clients list again" in forced.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["backup", "nowhere/backup", "--data-dir", "data"], "No such file or directory"),
        (["backup", "backup", "--data-dir", "other"], "there is no file other/objects.db"),
        (["restore", "missing", "--data-dir", "other"], "there is no file missing"),
        (["restore", "text", "--data-dir", "other"], "text is damaged or no database"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    store(Path("data"), "a")
    Path("text").write_text("no backup " * 1_000)

    result = proreus(*arguments)

    assert result.exit_code == 1
    assert words.lower() in result.output.lower()
    assert result.output.startswith("Error: ")
    assert result.output.count("\n") == 1


@pytest.mark.parametrize("command", ["backup", "restore"])
@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--etcd-cafile", "ca.pem"], "--etcd names one"),
        (["--etcd", "https://a,http://b"], "must be all http:// or all https://"),
        (["--etcd", "https://a", "--etcd-cafile", "missing.pem"], "missing.pem: No such file"),
    ],
)
def test_a_wrong_etcd_is_a_wrong_use(command: str, flags: list[str], words: str) -> None:
    result = proreus(command, "backup", *flags)

    assert result.exit_code == 2
    assert words in result.output


def test_an_etcd_behind_certificates_is_restored_into_served_from_and_backed_up(
    tmp_path: Path,
) -> None:
    store(tmp_path / "data", "a", "b")
    proreus("backup", tmp_path / "backup", "--data-dir", tmp_path / "data")

    with started_etcd(tls=True) as etcd:
        flags = [
            f"--etcd={etcd.endpoints[0]}",
            f"--etcd-cafile={etcd.ca_file}",
            f"--etcd-certfile={etcd.certificate_file}",
            f"--etcd-keyfile={etcd.key_file}",
        ]
        restored = proreus("restore", tmp_path / "backup", *flags)
        with running_server(tmp_path / "data", *flags):
            saved = proreus("backup", tmp_path / "second", *flags)

    assert restored.exit_code == 0, restored.output
    assert saved.exit_code == 0, saved.output
    proreus("restore", tmp_path / "second", "--data-dir", tmp_path / "new")
    assert keys(tmp_path / "data") <= keys(tmp_path / "new")
