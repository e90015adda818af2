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


class Deletions:
    """Counts the deletions that a client asks for."""

    def __init__(self) -> None:
        self.count = 0

    def request_done(self, *, verb: str, method: str, code: str, duration_s: float) -> None:
        self.count += verb == "delete"

    def throttled(self, delay_s: float) -> None:
        """There is no limit."""


def kubelet_work(client: Client) -> Pods:
    clock = SystemClock()
    recorder = EventRecorder(client.core_v1.events, "kubelet", clock=clock)
    informers = SharedInformerFactory(client)
    seen = Listers(informers.lister("nodes"), informers.lister("pods"))
    runtime = SimulatedRuntime(clock, recorder)
    return Pods(client, clock, recorder, node_addresses([NODE], []), runtime, seen)


async def create(client: Client) -> KubeObject:
    containers = [{"name": "c", "image": "i"}]
    return await client.core_v1.pods("default").create(
        {"metadata": {"name": "web"}, "spec": {"nodeName": NODE, "containers": containers}}
    )


async def test_its_own_status_is_no_news(client: Client) -> None:
    work = kubelet_work(client)
    bound = await create(client)
    assert not work.is_settled_at(bound)

    await reconcile(work, bound)
    running = await stored(client)
    assert (running.status.phase, work.is_settled_at(running)) == ("Running", True)

    work.touch(running.key)
    assert not work.is_settled_at(running)
    await reconcile(work, running)
    assert (await stored(client)).resource_version == running.resource_version


async def test_the_end_of_a_pod_is_confirmed_once(client: Client) -> None:
    deletions = Deletions()
    async with Client(client.config, observer=deletions) as own:
        work = kubelet_work(own)
        await reconcile(work, await create(client))
        await client.core_v1.pods("default").delete("web")
        going = await stored(client)

        await reconcile(work, going)
        # What the server writes of it before it is gone.
        last = going.to_dict()
        last["metadata"]["deletionGracePeriodSeconds"] = 0
        last["metadata"]["resourceVersion"] = str(int(going.resource_version) + 1_000)
        last["status"]["phase"] = "Failed"
        await reconcile(work, KubeObject.from_dict(last))

    await client.core_v1.pods("default").wait_deleted("web", uid=going.uid, timeout_s=60)
    assert deletions.count == 1
