"""A leader's process that is frozen past its lease and wakes up when another leads."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from proreus.api.object import KubeObject
from tests.any_server import client_of, kubeconfig_in
from tests.faults.cluster.programs import cluster
from tests.faults.cluster.tap import Tap, tap

TIMEOUT_S = 60


@contextlib.contextmanager
def candidate(name: str, kubeconfig: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.leading_child", name],
        env={**os.environ, "KUBECONFIG": str(kubeconfig)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{name}\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def writes(wire: Tap) -> list[str]:
    """What was written through the wire, beside the lease."""
    return [line for line in wire.written if "/leases" not in line]


@pytest.fixture
def kubeconfig(given_kubeconfig: str, tmp_path: Path) -> Iterator[Path]:
    if given_kubeconfig:
        yield Path(given_kubeconfig)
        return
    with cluster(tmp_path, "server") as server:
        yield server.kubeconfig


async def test_no_write_of_a_leader_frozen_past_its_lease_arrives(
    kubeconfig: Path, tmp_path: Path
) -> None:
    async with client_of(str(kubeconfig)) as client:
        own = kubeconfig_in(client.namespace, kubeconfig, tmp_path / "candidates")
        async with tap(own) as old, tap(own) as new:
            maps = client.core_v1.configmaps(client.namespace)
            metadata = {"name": "written", "labels": {"written": "yes"}}
            await maps.create({"metadata": metadata, "data": {"who": "nobody"}})

            async def wait_written_by(name: str) -> None:
                def is_written(found: KubeObject | None) -> bool:
                    return found is not None and found["data"]["who"] == name

                await maps.wait_for("written", is_written, timeout_s=TIMEOUT_S)

            with candidate("frozen", old.kubeconfig(own)) as frozen:
                await wait_written_by("frozen")
                with candidate("heir", new.kubeconfig(own)):
                    # It is frozen in the middle of a write, before the server has it.
                    def freeze(_: int) -> None:
                        if "/leases" not in old.asked[-1]:
                            old.on_write = lambda _: None
                            frozen.send_signal(signal.SIGSTOP)

                    old.on_write = freeze
                    await wait_written_by("heir")
                    before = len(writes(old))
                    looked = old.looks_at_lease
                    frozen.send_signal(signal.SIGCONT)
                    await old.wait(lambda: old.looks_at_lease >= looked + 5)

                    assert writes(old)[before:] == []
                    assert (await maps.get("written"))["data"]["who"] == "heir"
