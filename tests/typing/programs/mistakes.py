"""Mistakes, one per line: each line with the mark below is refused by every type checker."""

from __future__ import annotations

from dataclasses import dataclass

from proreus.api.kinds.apps_v1 import Deployment
from proreus.api.kinds.core_v1 import Container, Node, Pod, PodSpec
from proreus.api.kinds.meta_v1 import ObjectMeta
from proreus.client import (
    Client,
    Controller,
    Operator,
    Reconciliation,
    Request,
    SharedInformerFactory,
    Typed,
    checked,
    custom_resource,
)


@dataclass
class SiteSpec:
    replicas: int = 1


@custom_resource(group="example.com", version="v1")
@dataclass
class Site:
    spec: SiteSpec


async def names(client: Client) -> None:
    _ = client.totally_wrong  # refused
    _ = client.core_v2  # refused
    _ = client.core_v1.podz  # refused
    _ = client.apps_v1.pods  # refused
    await client.core_v1.pods.lsit()  # refused
    await client.core_v1.pods.list(label_selectr="a")  # refused
    await client.core_v1.pods.get(name=3)  # refused
    Client.from_env(retyr=3)  # refused
    Client.from_kubeconfig(namspace="n")  # refused
    Client.in_cluster(clock=3)  # refused
    client.resource(kind="Pod")  # refused


async def fields(client: Client) -> None:
    pod = await client.core_v1.pods.get("web")
    _ = pod.sepc  # refused
    _ = pod.spec.nodeNmae  # refused
    _ = pod.spec.node_name  # refused
    _ = pod.metadata.deletion_timestamp  # refused
    _ = pod.spec.containers[0].imag  # refused
    _ = pod.status.podIP.upper()  # refused
    pod.spec.nodeName = "n2"  # refused
    dynamic = await client.resource("widgets").get("w")
    _ = dynamic.metadata.finalizer  # refused


async def bodies(client: Client, pod: Pod) -> None:
    await client.apps_v1.deployments.create(pod)  # refused
    Container(nmae="c")  # refused
    Container(name=3)  # refused
    Container(image="i")  # refused
    PodSpec(containers=[ObjectMeta(name="c")])  # refused
    Pod(spec=ObjectMeta(name="c"))  # refused


async def reconcile(request: Request[Deployment]) -> None:
    if request.object is not None:
        _ = request.object.spec.replica  # refused
    _ = request.object.spec  # refused


async def informers(client: Client) -> None:
    async with SharedInformerFactory(client, namspace="default") as factory:  # refused
        pods = factory.informer(Pod, namspace="default")  # refused
        factory.informer("pods", label_selectors="a")  # refused
        factory.informer(Pod, indexes={"node": lambda pod: [pod.spec.nodNmae]})  # refused
        factory.informer(Pod).add_handler(on_add=of_node)  # refused
        _ = factory.informer(Pod).lister.get("web").spec.nodNmae  # refused
        Controller(reconcile, factory.informer(Pod))  # refused
        _ = pods


def of_node(node: Node) -> None:
    _ = node.name


async def of_ones_own_kind(client: Client, informers: SharedInformerFactory) -> None:
    sites = Typed(client, Site, "default")
    await sites.create("a", SiteSpec())  # refused
    _ = (await sites.get("a")).value.spec.replica  # refused
    sites.informer(informers).add_handler(on_add=of_node)  # refused
    checked(minimun=1)  # refused
    checked(minLength="a")  # refused
    custom_resource(group="example.com", version="v1", shortnames=("s",))  # refused


operator = Operator("sites")


@operator.reconciler(Site, own=["pods"])  # refused
async def reconcile_site(found: Reconciliation[Site]) -> None:
    _ = found.value.spec.replica  # refused
