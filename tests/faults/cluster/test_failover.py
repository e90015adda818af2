"""Of two processes one leads; the other takes over when it dies, and when it only sleeps."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from proreus.api.object import KubeObject
from proreus.client import Client
from tests.faults.cluster.programs import Cluster, Program, cluster
from tests.faults.cluster.rollout import deployment
from tests.faults.cluster.tap import Tap, tap

# Long enough for the busiest machine to renew: an heir that did not would hand the lease back to
# who slept, who then may write. Short enough to wait for.
TIMING = (
    "--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=7500ms",
    "--leader-elect-retry-period=200ms",
)  # fmt: skip
PODS = 60
HANDED_OVER_MAX = 32  # what is under way at once: a batch of pods or bindings, events, the lease
TIMEOUT_S = 60


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    without = ("--disable-admission-plugins", "ServiceAccount")  # which a controller would make
    with cluster(tmp_path_factory.mktemp("failover"), "server", *without) as made:
        yield made


@dataclass(slots=True)
class Candidate:
    label: str
    program: Program
    tap: Tap


class Election:
    """Two candidates for the lease of one kind of part."""

    def __init__(self, part: str, server: Cluster, client: Client) -> None:
        self.part = part
        self._server = server
        self._client = client
        self._leases = client.coordination_v1.leases("kube-system")

    def stand(self, label: str, wire: Tap) -> Candidate:
        log = self._server.folder / f"{label}.log"
        flags = ["--kubeconfig", str(wire.kubeconfig(self._server.kubeconfig)), *TIMING]
        program = Program(self.part, flags, log)
        self._server.parts[label] = program
        program.start()
        return Candidate(label, program, wire)

    async def wait_leads(self, candidate: Candidate) -> None:
        pid = f"_{candidate.program.pid}"

        def leads(lease: KubeObject | None) -> bool:
            return lease is not None and str(lease.spec.holderIdentity).endswith(pid)

        await self._leases.wait_for(f"proreus-{self.part}", leads, timeout_s=TIMEOUT_S)

    async def give_work(self, name: str) -> None:
        """Something that takes many writes."""
        namespace = {"metadata": {"name": name}}
        await self._client.core_v1.namespaces.create(namespace)
        if self.part == "controllers":
            await self._client.apps_v1.deployments(name).create(deployment(PODS))
            return
        pods = self._client.core_v1.pods(name)
        for number in range(PODS):
            await pods.create(_pod(f"pod-{number}"))

    async def wait_done(self, name: str) -> None:
        if self.part == "controllers":
            await self._client.apps_v1.deployments(name).wait_for(
                "web", lambda it: _status(it).get("replicas") == PODS, timeout_s=TIMEOUT_S
            )
            return
        for number in range(PODS):
            await self._client.core_v1.pods(name).wait_for(
                f"pod-{number}",
                lambda it: it is not None and bool(it.spec.nodeName),
                timeout_s=TIMEOUT_S,
            )


@pytest_asyncio.fixture(params=["controllers", "scheduler"])
async def election(request: pytest.FixtureRequest, server: Cluster) -> AsyncIterator[Election]:
    async with server.client() as client:
        if request.param == "scheduler":
            await client.core_v1.nodes.create(_node())
            await client.core_v1.nodes.patch("node", {"spec": {"taints": None}})
        yield Election(request.param, server, client)
        for label in list(server.parts):
            server.remove(label)


async def test_another_takes_over_from_a_leader_that_dies_and_from_one_that_sleeps(
    election: Election, server: Cluster
) -> None:
    async with tap(server.kubeconfig) as one, tap(server.kubeconfig) as two:
        dying = election.stand("dying", one)
        await election.wait_leads(dying)
        sleeping = election.stand("sleeping", two)

        dying.program.kill()
        await election.wait_leads(sleeping)
        heir = election.stand("heir", one)

        # It falls asleep in the middle of its work, and wakes up when another has done that.
        two.on_write = _freeze_at(sleeping, len(two.written) + 15)
        await election.give_work(f"{election.part}-work")
        await election.wait_leads(heir)
        await election.wait_done(f"{election.part}-work")
        two.asked.clear()
        two.on_write = lambda _: None
        sleeping.program.thaw()
        await two.wait(lambda: two.looks_at_lease >= 3)
        # What it had handed to its sockets in the moment it fell asleep arrives, and no more.
        handed_over = len(two.written)
        await election.give_work(f"{election.part}-heirs-work")
        await election.wait_done(f"{election.part}-heirs-work")
        await two.wait(lambda: two.looks_at_lease >= 6)

        assert handed_over <= HANDED_OVER_MAX
        assert len(two.written) == handed_over
        await election.wait_leads(heir)

        # It has not given up: it waits for its turn.
        heir.program.kill()
        await election.wait_leads(sleeping)
        await election.give_work(f"{election.part}-more-work")
        await election.wait_done(f"{election.part}-more-work")


def _freeze_at(candidate: Candidate, number: int) -> Any:
    def look(written: int) -> None:
        if written == number:
            candidate.program.freeze()

    return look


def _status(obj: KubeObject | None) -> Any:
    return (obj.get("status") or {}) if obj is not None else {}


def _node() -> dict[str, Any]:
    room = {"cpu": "100", "memory": "100Gi", "pods": "500"}
    return {"metadata": {"name": "node"}, "status": {"allocatable": room, "capacity": room}}


def _pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
