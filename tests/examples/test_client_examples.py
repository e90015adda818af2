"""The client's examples, run as users run them: a process, a KUBECONFIG, a real server with TLS."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from proreus.client import Client
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from tests.any_server import client_of, kubeconfig_in
from tests.closing import all_closed

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass
class Cluster:
    kubeconfig: Path
    client: Client


@pytest_asyncio.fixture
async def cluster(given_kubeconfig: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    if given_kubeconfig:
        async with client_of(given_kubeconfig) as client:
            copy = kubeconfig_in(client.namespace, given_kubeconfig, tmp_path)
            yield Cluster(copy, client)
        return
    kubeconfig = tmp_path / "kubeconfig"
    config = ServerConfig(data_dir=tmp_path / "server", tls=True, kubeconfig=kubeconfig)
    async with ApiServer(config), Client.from_kubeconfig(kubeconfig) as client:
        yield Cluster(kubeconfig, client)
    await all_closed()


class Program:
    """A running example and what it says."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def says(self, words: str) -> None:
        """Wait for a line with these words; the test's timeout is the deadline."""
        assert self._process.stdout
        said: list[str] = []
        async for line in self._process.stdout:
            said.append(line.decode())
            if words in said[-1]:
                return
        raise AssertionError(f"it ended without saying {words!r}: {''.join(said)}")

    async def end(self, number: signal.Signals = signal.SIGINT) -> int:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)
        code = await self._process.wait()
        assert self._process.stdout
        await self._process.stdout.read()
        return code


@contextlib.asynccontextmanager
async def running(cluster: Cluster, example: str, *arguments: str) -> AsyncIterator[Program]:
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
    environment["KUBECACHEDIR"] = str(cluster.kubeconfig.parent / "cache")
    program = Program(
        await asyncio.create_subprocess_exec(
            sys.executable,
            str(EXAMPLES / example),
            *arguments,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
    )
    try:
        yield program
    finally:
        await program.end()


async def test_the_informer_notifies_of_pods_coming_changing_and_going(cluster: Cluster) -> None:
    pods, where = cluster.client.core_v1.pods, cluster.client.namespace
    spec = {"containers": [{"name": "c", "image": "i"}]}
    async with running(cluster, "informer.py", cluster.client.namespace) as program:
        await program.says("synced: 0 pods")
        await pods.create({"metadata": {"name": "web"}, "spec": spec})
        await program.says(f"{where}/web: there")
        await pods.patch_status("web", {"status": {"phase": "Running"}})
        await program.says(f"{where}/web: Pending → Running")
        await pods.delete("web", grace_period_s=0)
        await program.says(f"{where}/web: gone")


async def test_the_controller_greets_and_mends_its_greeting(cluster: Cluster) -> None:
    maps = cluster.client.core_v1.configmaps
    async with running(cluster, "controller.py") as program:
        await maps.create({"metadata": {"name": "a", "labels": {"greet": "World"}}})
        await program.says(f"greeted {maps.namespace}/a")
        made = await maps.get("a-greeting")
        await maps.delete("a-greeting")
        await program.says(f"greeted {maps.namespace}/a")

        assert made["data"]["text"] == "Hello, World!"
        mended = await maps.wait_for("a-greeting", lambda found: found is not None, timeout_s=60)
        assert mended is not None and mended.uid != made.uid


async def test_a_second_operator_takes_over_when_the_first_ends(cluster: Cluster) -> None:
    deployments = cluster.client.apps_v1.deployments
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template, "paused": True}
    async with running(cluster, "leader.py", "two") as second:
        async with running(cluster, "leader.py", "one"):
            # Whoever was faster leads; ending it must bring the other to work.
            await deployments.create({"metadata": {"name": "first"}, "spec": spec})
            await deployments.wait_for(
                "first", lambda d: d is not None and not d["spec"].get("paused"), timeout_s=60
            )
        await deployments.create({"metadata": {"name": "second"}, "spec": spec})
        await second.says(f"unpaused {deployments.namespace}/second")
        async with asyncio.timeout(60):
            async for event in cluster.client.core_v1.events.events():
                if event.object.reason == "Unpaused":
                    break


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_an_operator_that_a_signal_ends_releases_its_lease(
    cluster: Cluster, number: signal.Signals
) -> None:
    leases = cluster.client.coordination_v1.leases
    async with running(cluster, "leader.py", "one") as leader:
        await leader.says("leader: one")
        code = await leader.end(number)

        lease = await leases.get("unpauser")
        assert (code, lease.spec.holderIdentity or "") == (0, "")


async def test_the_website_operator_makes_what_a_website_needs(cluster: Cluster) -> None:
    client = cluster.client
    sites = client.resource("websites.example.com")
    crds = client.resource("customresourcedefinitions.apiextensions.k8s.io")
    async with running(cluster, "website_operator.py", "127.0.0.1:0") as program:
        await crds.wait_for("websites.example.com", "condition=Established", timeout_s=60)
        body = {"apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": "shop"}}
        await sites.create({**body, "spec": {"html": "<h1>Shop</h1>", "replicas": 2}})
        await client.core_v1.services.wait_for("shop", "create", timeout_s=60)
        deployments = client.apps_v1.deployments
        ready = {"status": {"replicas": 2, "readyReplicas": 2}}
        await deployments.patch_status("shop", ready)  # where there is no controller of them
        site = await sites.wait_for("shop", "condition=Ready", timeout_s=60)
        page = await client.core_v1.configmaps.get("shop")
        await sites.delete("shop")
        await program.says(f"{sites.namespace}/shop is going")
        await sites.wait_deleted("shop", timeout_s=60)

    assert page["data"]["index.html"] == "<h1>Shop</h1>"
    assert page["metadata"]["ownerReferences"][0].uid == site.uid
    assert site.status.conditions[0].message == "2 of 2 replicas are ready"
