"""A test's run is kept in a file, and served again at any point in time."""

from __future__ import annotations

import asyncio
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from proreus.api.status import Forbidden, NotFound
from proreus.client import Client, ClientConfig
from proreus.client.config.loading import load_config
from proreus.server.config import ServerConfig
from proreus.testing.records import Record, RecordInvalid, Replay, keep, load, replaying
from proreus.testing.server import running_server
from tests.testing.pytest_process import UNUSED


async def kept(path: Path) -> Record:
    """Of a server where ``a`` was made, changed and deleted."""
    async with running_server() as server, server.client(user_agent="someone") as client:
        since = int((await client.core_v1.configmaps("default").list()).resource_version)
        maps = client.core_v1.configmaps("default")
        await maps.create({"metadata": {"name": "a"}, "data": {"x": "1"}})
        await maps.patch("a", {"data": {"x": "2"}})
        await maps.delete("a")
        return await keep(server, path, since=since, title="three writes")


def config_of(replay: Replay) -> ClientConfig:
    assert replay.api.config.kubeconfig is not None
    return load_config(replay.api.config.kubeconfig)


def serving(folder: Path) -> ServerConfig:
    return ServerConfig(data_dir=folder, tls=True, kubeconfig=folder / "kubeconfig")


async def test_what_is_kept_is_what_is_loaded(tmp_path: Path) -> None:
    record = await kept(tmp_path / "a.proreus")

    loaded = load(tmp_path / "a.proreus")

    assert loaded == record
    assert loaded.title == "three writes"
    mine = [one for one in loaded.writes if one.key == "/registry/configmaps/default/a"]
    assert [one.value is None for one in mine] == [False, False, True]
    assert all(one.at_s is not None for one in mine)
    asked = [one for one in loaded.requests if one["user_agent"].startswith("someone")]
    assert [one["method"] for one in asked] == ["GET", "POST", "PATCH", "DELETE"]


async def test_a_record_is_served_as_it_was_at_each_revision(tmp_path: Path) -> None:
    record = await kept(tmp_path / "a.proreus")
    first, second, third = (
        one.revision for one in record.writes if one.key == "/registry/configmaps/default/a"
    )

    async with (
        replaying(record, serving(tmp_path / "keys")) as replay,
        Client(config_of(replay)) as client,
    ):
        maps = client.core_v1.configmaps("default")
        for revision, expected in ((first, "1"), (second, "2"), (first, "1")):
            await replay.go_to(revision)
            found = await maps.get("a")
            assert (found["data"]["x"], found.resource_version) == (expected, str(revision))
        await replay.go_to(third)
        with pytest.raises(NotFound):
            await maps.get("a")


async def test_a_step_forth_is_an_event(tmp_path: Path) -> None:
    record = await kept(tmp_path / "a.proreus")
    first = next(one.revision for one in record.writes if one.key.endswith("/default/a"))

    async with (
        replaying(record, serving(tmp_path / "keys")) as replay,
        Client(config_of(replay)) as client,
        asyncio.timeout(60),
    ):
        await replay.go_to(first)
        maps = client.core_v1.configmaps("default")
        async with maps.watch(resource_version=str(first)) as events:
            await replay.go_to(first + 1)
            async for event in events:
                assert (event.type, event.object["data"]["x"]) == ("MODIFIED", "2")
                break


async def test_nothing_can_be_changed_in_a_record(tmp_path: Path) -> None:
    record = await kept(tmp_path / "a.proreus")

    async with (
        replaying(record, serving(tmp_path / "keys")) as replay,
        Client(config_of(replay)) as client,
    ):
        with pytest.raises(Forbidden, match="nothing can be changed"):
            await client.core_v1.configmaps("default").create({"metadata": {"name": "b"}})


def test_another_file_is_no_record(tmp_path: Path) -> None:
    for name, content in (("empty", ""), ("text", "hello"), ("json", "[1]"), ("other", "{}")):
        path = tmp_path / name
        path.write_text(content)
        with pytest.raises(RecordInvalid, match="is no record"):
            load(path)


async def test_the_command_serves_a_record_and_steps_through_it(tmp_path: Path) -> None:
    record = await kept(tmp_path / "a.proreus")
    command = [sys.executable, "-m", "proreus.cli.main", "replay", str(tmp_path / "a.proreus")]

    ended = await asyncio.to_thread(
        subprocess.run, command, input="p\n+1\nq\n", capture_output=True, text=True, timeout=60
    )

    last = record.last_revision
    assert ended.returncode == 0, ended.stderr
    assert "proreus replay is ready at https://" in ended.stdout
    places = [line for line in ended.stdout.splitlines() if line.startswith("revision")]
    assert [int(line.split()[1]) for line in places] == [last, last - 1, last]


_TESTS = """
def test_fails(proreus_blocking_client):
    proreus_blocking_client.core_v1.configmaps("default").create({"metadata": {"name": "a"}})
    assert False

def test_passes(proreus_blocking_client):
    proreus_blocking_client.core_v1.configmaps("default").create({"metadata": {"name": "b"}})
"""


def pytest_run(folder: Path, *options: str) -> str:
    (folder / "test_it.py").write_text(_TESTS)
    is_registered = importlib.metadata.entry_points(group="pytest11", name="proreus")
    plugin = () if is_registered else ("-p", "proreus.testing.pytest_plugin")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += [part for name in UNUSED for part in ("-p", f"no:{name}")]
    command += [f"--rootdir={folder}", f"--basetemp={folder / 'temp'}", *plugin]
    ended = subprocess.run(
        [*command, *options, "test_it.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return ended.stdout


def test_a_failing_test_keeps_its_record_and_names_it(tmp_path: Path) -> None:
    said = pytest_run(tmp_path)

    (path,) = (tmp_path / "temp").rglob("*.proreus")
    assert f"proreus replay {path}" in said
    assert any(one.key == "/registry/configmaps/default/a" for one in load(path).writes)


def test_every_test_keeps_its_record_if_asked(tmp_path: Path) -> None:
    pytest_run(tmp_path, "--proreus-record=kept")

    names = sorted(path.name for path in (tmp_path / "kept").iterdir())
    assert names == ["test_it.py_test_fails.proreus", "test_it.py_test_passes.proreus"]
