"""Mistakes, one per line: each line with the mark below is refused by every type checker."""

from __future__ import annotations

from dataclasses import dataclass

from proreus import blocking
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
    Controller(reconcile_requested_site, informers.informer(Pod))  # refused
    Controller(reconcile, sites.informer(informers))  # refused
    checked(minimun=1)  # refused
    checked(minLength="a")  # refused
    custom_resource(group="example.com", version="v1", shortnames=("s",))  # refused


async def reconcile_requested_site(request: Request[Site]) -> None:
    if request.value is not None:
        _ = request.value.spec.replica  # refused
    _ = request.value.spec  # refused


operator = Operator("sites")


@operator.reconciler(Site, own=["pods"])  # refused
async def reconcile_site(found: Reconciliation[Site]) -> None:
    _ = found.value.spec.replica  # refused
    _ = found.lister(Pod).get("a").spec.nodNmae  # refused


def without_await(client: blocking.Client, informers: blocking.SharedInformerFactory) -> None:
    _ = client.totally_wrong  # refused
    _ = client.core_v1.podz  # refused
    _ = client.core_v1.pods.get("web").spec.nodeNmae  # refused
    _ = client.core_v1.pods.list().items[0].sepc  # refused
    client.core_v1.pods.lsit()  # refused
    client.core_v1.pods.list(label_selectr="a")  # refused
    client.core_v1.pods.get(name=3)  # refused
    client.core_v1.pods.wait_for("web", lambda pod: pod.spec.nodeNmae)  # refused
    blocking.Client.from_env(retyr=3)  # refused
    blocking.Client.from_kubeconfig(namspace="n")  # refused
    blocking.SharedInformerFactory(client, namspace="n")  # refused
    informers.informer("pods", namspace="default")  # refused
    informers.informer(Pod, label_selectors="a")  # refused
    informers.informer(Pod).add_handler(on_add=of_node)  # refused
    _ = informers.informer(Pod).lister.get("web").spec.nodNmae  # refused
    _ = informers.lister(Pod).list()[0].spec.nodNmae  # refused
    sites = blocking.Typed(client, Site, "default")
    sites.create("a", SiteSpec())  # refused
    sites.informer(informers).add_handler(on_add=of_node)  # refused
    _ = sites.informer(informers).get("a").value.spec.replica  # refused
    blocking.Operator("sites", client, adress=":1")  # refused
    blocking.Operator("sites", client).reconciler(Site, own=["pods"])  # refused


def reconcile_without_await(found: blocking.Reconciliation[Site]) -> None:
    _ = found.value.spec.replica  # refused
    _ = found.client.core_v1.podz  # refused
    _ = found.lister(Pod).get("a").spec.nodNmae  # refused
