"""A kubelet looks at a pod again when there is news of it, and only then."""

from __future__ import annotations

from proreus.aio.clock import SystemClock
from proreus.api.object import KubeObject
from proreus.client import Client
from proreus.client.controller import Request
from proreus.client.event_recorder import EventRecorder
from proreus.client.informer import SharedInformerFactory
from proreus.cluster.kubelet.addresses import node_addresses
from proreus.cluster.kubelet.pods import Listers, Pods
from proreus.cluster.kubelet.runtimes.simulated.runtime import SimulatedRuntime

NODE = "node-1"


async def stored(client: Client) -> KubeObject:
    return await client.core_v1.pods("default").get("web")


async def reconcile(work: Pods, pod: KubeObject) -> None:
    await work.reconcile(Request(pod.key, pod, 0))


async def test_its_own_status_is_no_news(client: Client) -> None:
    clock = SystemClock()
    recorder = EventRecorder(client.core_v1.events, "kubelet", clock=clock)
    informers = SharedInformerFactory(client)
    seen = Listers(informers.lister("nodes"), informers.lister("pods"))
    runtime = SimulatedRuntime(clock, recorder)
    work = Pods(client, clock, recorder, node_addresses([NODE], []), runtime, seen)
    containers = [{"name": "c", "image": "i"}]
    bound = await client.core_v1.pods("default").create(
        {"metadata": {"name": "web"}, "spec": {"nodeName": NODE, "containers": containers}}
    )
    assert not work.is_settled_at(bound)

    await reconcile(work, bound)
    running = await stored(client)
    assert (running.status.phase, work.is_settled_at(running)) == ("Running", True)

    work.touch(running.key)
    assert not work.is_settled_at(running)
    await reconcile(work, running)
    assert (await stored(client)).resource_version == running.resource_version

    await client.core_v1.pods("default").delete("web")
    going = await stored(client)
    assert not work.is_settled_at(going)
    await reconcile(work, going)
    await client.core_v1.pods("default").wait_deleted("web", uid=going.uid, timeout_s=60)
