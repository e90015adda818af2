"""Kill any part, or the API server, during a rolling update: it converges inside its bounds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.cluster.programs import Cluster, cluster
from tests.faults.cluster.rollout import Rollout, points

NODES = ("--nodes", "5")


@pytest.fixture(scope="module")
def in_parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Every program in a process of its own."""
    with cluster(tmp_path_factory.mktemp("parts"), "server") as made:
        made.add("controllers", "controllers", "--no-leader-elect")
        made.add("scheduler", "scheduler", "--no-leader-elect")
        made.add("kubelet", "kubelet", *NODES)
        yield made


@pytest.fixture(scope="module")
def in_one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("up"), "up", *NODES) as made:
        yield made


async def test_an_undisturbed_rollout_keeps_its_promise_at_every_event(in_parts: Cluster) -> None:
    async with in_parts.client() as client:
        rollout = Rollout(client, "undisturbed")
        await rollout.prepare()

        await rollout.run([], kill=lambda: None)


@pytest.mark.parametrize("victim", ["controllers", "scheduler", "kubelet", "server"])
async def test_a_rollout_survives_the_death_of_a_program(in_parts: Cluster, victim: str) -> None:
    """Guarantees: durable, resumable, eventually equal"""
    program = in_parts.program(victim)

    def kill() -> None:
        program.kill()
        program.start()

    async with in_parts.client() as client:
        rollout = Rollout(client, f"without-{victim}")
        await rollout.prepare()

        await rollout.run(points(victim, 2), kill)

        assert rollout.watch.resumed or victim != "server"


async def test_a_rollout_survives_the_death_of_everything_at_once(in_one: Cluster) -> None:
    """Guarantees: durable, resumable, eventually equal"""

    def kill() -> None:
        in_one.main.kill()
        in_one.main.start()

    async with in_one.client() as client:
        rollout = Rollout(client, "everything")
        await rollout.prepare()

        await rollout.run(points("everything", 2), kill)

        assert rollout.watch.resumed
