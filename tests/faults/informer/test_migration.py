"""A server that stops on one store and goes on with another, which was made of its backup."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.faults.informer.scene import HURRY, Scene, scene, until
from tests.real_etcd import EtcdCluster, started_etcd


@pytest.fixture
def etcd() -> Iterator[EtcdCluster]:
    """A new one: only that can have the revisions of another store."""
    with started_etcd() as cluster:
        yield cluster


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "server"


@pytest_asyncio.fixture
async def stage(data_dir: Path) -> AsyncIterator[Scene]:
    async with scene(data_dir, stream_lists=True) as made:
        yield made


async def proreus(*arguments: str | Path) -> str:
    command = [sys.executable, "-m", "proreus.cli.main", *map(str, arguments)]
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


async def test_an_informer_resumes_when_sqlite_becomes_etcd_and_etcd_sqlite(
    stage: Scene, etcd: EtcdCluster, data_dir: Path, tmp_path: Path
) -> None:
    """Guarantee: resumable. What the informer missed on one store it gets from the other."""
    await stage.cut_off()
    await stage.churn(40)
    await stage.stop_server()
    await proreus("backup", tmp_path / "backup", "--data-dir", data_dir)
    said = await proreus("restore", tmp_path / "backup", "--etcd", etcd.endpoints[0])
    assert "clients resume where they were" in said
    stage.move_to((etcd.endpoints[0],))
    await stage.start_server()
    await stage.proxy.listen()
    await stage.churn(10)
    await stage.wait_equal()

    await stage.cut_off()
    await stage.churn(40)
    await stage.stop_server()
    await proreus("backup", tmp_path / "backup", "--etcd", etcd.endpoints[0])
    for old in data_dir.glob("objects.db*"):
        old.unlink()
    said = await proreus("restore", tmp_path / "backup", "--data-dir", data_dir)
    assert "clients resume where they were" in said
    stage.move_to(())
    await stage.start_server()
    await stage.proxy.listen()
    await stage.churn(10)

    await stage.wait_equal()
    assert stage.informer.status().relists == 0
    assert "expired" not in stage.causes


async def test_an_informer_lists_again_when_an_older_backup_took_the_place_of_a_store(
    stage: Scene, data_dir: Path, tmp_path: Path
) -> None:
    """Guarantee: eventually equal. It has seen revisions that never were in the restored store."""
    await proreus("backup", tmp_path / "backup", "--data-dir", data_dir)
    await stage.churn(40)
    await stage.wait_equal()
    await stage.stop_server()

    said = await proreus("restore", tmp_path / "backup", "--data-dir", data_dir, "--force")
    assert "clients list again" in said
    await stage.start_server()
    marker = await stage.write("marker")
    await stage.informer.lister.wait_for_version(marker.resource_version, timeout_s=60 * HURRY)
    await until(lambda: not stage.informer.status().handlers[0].pending)
    stage.witness.complaints.clear()  # versions of objects went back, as was asked for

    await stage.churn(10)
    await stage.wait_equal()
    assert stage.informer.status().relists > 0
    assert "expired" in stage.causes
