"""A pod's certificates are asked for again before they end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from proreus.aio.clock import SystemClock
from proreus.client import Client, KubeObject
from proreus.client.conditions import is_true
from proreus.cluster.kubelet.runtimes.pod_certificates import PodCertificates
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import PodSpec, read_pod
from proreus.cluster.kubelet.runtimes.pod_spec.references import ConfigProblem
from proreus.cluster.kubelet.runtimes.simulated.awaited_volumes import AwaitedVolumes
from tests.cluster.pod_signer import projected, signing

REFRESH_S = 3600.0


@dataclass(slots=True)
class ForwardClock(SystemClock):
    ahead_s: float = 0.0

    def now(self) -> float:
        return SystemClock.now(self) + self.ahead_s


async def a_pod(client: Client) -> PodSpec:
    core = client.core_v1
    await core.serviceaccounts("default").create({"metadata": {"name": "default"}})
    await core.nodes.create({"metadata": {"name": "node-1"}})
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}], "nodeName": "node-1"}
    spec["volumes"] = [projected(keyPath="key")]
    content = {"metadata": {"name": "web", "namespace": "default"}, "spec": spec}
    return read_pod(await core.pods("default").create(content))


async def test_a_certificate_is_replaced_by_one_of_a_new_key_when_its_signer_wants_that(
    client: Client,
) -> None:
    pod, clock = await a_pod(client), ForwardClock()
    certificates = PodCertificates(client, clock)
    requests = client.certificates_v1.podcertificaterequests("default")

    async with signing(client, refresh_s=REFRESH_S):
        (first,) = (await certificates.current(pod)).values()
        assert list((await certificates.current(pod)).values()) == [first]
        assert len((await requests.list()).items) == 1

        clock.ahead_s = REFRESH_S + 1
        await certificates.current(pod)  # asks, and has the first until there is an answer
        names = [one.name for one in (await requests.list()).items]
        for name in names:
            await requests.wait_for(name, is_issued, timeout_s=60)
        (second,) = (await certificates.current(pod)).values()

    assert len(names) == 2
    assert second.key != first.key
    assert second.certificate != first.certificate


@dataclass(slots=True)
class JumpingClock(ForwardClock):
    """Long sleeps are over at once."""

    async def sleep(self, seconds: float) -> None:
        if seconds < REFRESH_S / 2:
            await SystemClock.sleep(self, min(seconds, 0.1))
        else:
            self.ahead_s += seconds


async def test_a_simulated_pod_that_runs_has_its_certificate_renewed(client: Client) -> None:
    pod = await a_pod(client)
    requests = client.certificates_v1.podcertificaterequests("default")
    asked: set[str] = set()
    async with (
        asyncio.timeout(60),
        signing(client, refresh_s=REFRESH_S),
        requests.watch() as events,
        asyncio.TaskGroup() as group,
    ):
        volumes = AwaitedVolumes(client, JumpingClock(), group)
        volumes.look_for(pod, lambda: None)
        async for event in events:
            if event.type == "MODIFIED" and is_issued(event.object):
                asked.add(event.object.name)
            if len(asked) == 2:
                break
        problem = volumes.problem(pod.uid)
        volumes.close()

    assert problem == ""


async def test_a_request_that_is_deleted_before_it_is_answered_is_made_again(
    client: Client,
) -> None:
    pod = await a_pod(client)
    certificates = PodCertificates(client, SystemClock())
    requests = client.certificates_v1.podcertificaterequests("default")
    asking = asyncio.create_task(certificates.current(pod))
    async with asyncio.timeout(60), requests.watch() as events:
        async for event in events:
            if event.type == "ADDED":
                await requests.delete(event.object.name)
                break

    with pytest.raises(ConfigProblem, match="not found"):
        await asking

    async with signing(client):
        assert len(await certificates.current(pod)) == 1


def is_issued(request: KubeObject | None) -> bool:
    return request is not None and is_true(request, "Issued")
