"""A program as users write it: no line of it is refused by a type checker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, assert_type

import msgspec

from proreus.api.frozen import FrozenList
from proreus.api.kinds.apps_v1 import Deployment, DeploymentSpec
from proreus.api.kinds.autoscaling_v1 import Scale
from proreus.api.kinds.core_v1 import ConfigMap, Container, Node, Pod, PodSpec, PodTemplateSpec
from proreus.api.kinds.meta_v1 import LabelSelector, ObjectMeta, OwnerReference
from proreus.client import (
    Client,
    Controller,
    KubeObject,
    Lister,
    Notification,
    Operator,
    Reconciliation,
    Request,
    ResourceClient,
    Result,
    RetryPolicy,
    SharedInformer,
    SharedInformerFactory,
    Stored,
    Typed,
    Watch,
    WatchEvent,
    checked,
    custom_resource,
    generation_changed,
)


async def verbs(client: Client) -> None:
    pods = client.core_v1.pods("default")
    assert_type(pods, ResourceClient[Pod])
    pod = await pods.get("web")
    assert_type(pod, Pod)
    assert_type(pod.spec.nodeName, str | None)
    assert_type(pod.spec.containers, FrozenList[Container])
    assert_type(pod.spec.containers[0].name, str)
    assert_type(pod.metadata.ownerReferences, FrozenList[OwnerReference] | None)
    assert_type(pod.name, str)
    for found in await pods.list(label_selector="app=web"):
        assert_type(found, Pod)
    async with pods.watch() as events:
        async for event in events:
            assert_type(event, WatchEvent[Pod])
    assert_type(await client.core_v1.nodes.get("n1"), Node)
    assert_type(await client.apps_v1.deployments("default").get_scale("web"), Scale)
    ready = await pods.wait_for("web", lambda it: it.status.phase == "Running")
    assert_type(ready, Pod)
    async for change in pods.events():
        assert_type(change.object, Pod)


async def writes(client: Client) -> None:
    container = Container(name="main", image="web:1", env=[{"name": "A", "value": "b"}])
    template = PodTemplateSpec(
        metadata=ObjectMeta(labels={"app": "web"}), spec=PodSpec(containers=[container])
    )
    made = await client.apps_v1.deployments("default").create(
        Deployment(
            metadata=ObjectMeta(name="web"),
            spec=DeploymentSpec(
                replicas=2,
                selector=LabelSelector(matchLabels={"app": "web"}),
                template=template,
            ),
        )
    )
    assert_type(made.spec.replicas, int | None)
    maps = client.core_v1.configmaps("default")
    await maps.create({"metadata": {"name": "a"}, "data": {"k": "v"}})
    await maps.replace(await maps.get("a"))
    await maps.create(ConfigMap(metadata={"name": "b"}, data={"k": "v"}))


async def informers(client: Client) -> None:
    async with SharedInformerFactory(client, namespace="default") as factory:
        pods = factory.informer(Pod, label_selector="app=web", indexes={"node": node_of})
        assert_type(pods, SharedInformer[Pod])
        assert_type(pods.lister, Lister[Pod])
        assert_type(pods.lister.get("web", "default"), Pod)
        assert_type(pods.lister.by_index("node", "n1"), list[Pod])
        pods.add_handler(on_add=placed, on_update=lambda old, new: placed(new))
        Controller(reconcile, factory.informer(Deployment), owns=[pods])
        Controller(reconcile, factory.informer(Deployment), when=grew)
        Watch(factory.informer(Deployment), when=grew)


def node_of(pod: Pod) -> tuple[str, ...]:
    return (pod.spec.nodeName or "",)


def placed(pod: Pod) -> None:
    _ = (pod.name, pod.spec.nodeName)


def grew(notification: Notification[Deployment]) -> bool:
    return notification.new is not None and (notification.new.spec.replicas or 0) > 1


async def reconcile(request: Request[Deployment]) -> Result | None:
    if request.object is None:
        return None
    assert_type(request.object, Deployment)
    assert_type(request.value, Deployment | None)
    return Result(requeue_after_s=1.0 if request.object.status.readyReplicas else None)


async def of_any_kind(client: Client) -> None:
    """What nobody declared is read dynamically; only the metadata is known."""
    widget = await client.resource("widgets.example.com")("default").get("w")
    assert_type(widget, KubeObject)
    _ = (widget.spec.size, widget.metadata.deletionTimestamp)
    for other in (client.core_v1.pods, client.resource(api_version="v1", kind="Pod")):
        await first(other)


async def first(resource: ResourceClient) -> KubeObject:
    return (await resource.list(limit=1)).items[0]


class SiteSpec(msgspec.Struct, rename="camel"):
    replicas: int = 1


@custom_resource(group="example.com", version="v1", short_names=("site",))
@dataclass
class Site:
    spec: SiteSpec
    limit: Annotated[int, checked(minimum=1)] = 3


async def of_ones_own_kind(client: Client, informers: SharedInformerFactory) -> None:
    sites = Typed(client, Site, "default")
    made = await sites.create("a", Site(SiteSpec(replicas=2)))
    assert_type(made, Stored[Site])
    assert_type(made.value.spec.replicas, int)
    assert_type(await sites.in_all_namespaces().list(), list[Stored[Site]])
    informer = sites.informer(informers)
    informer.add_handler(on_add=site_came)
    assert_type(informer.get("a", "default").value, Site)
    Controller(reconcile_site_request, informer, when=generation_changed)


async def reconcile_site_request(request: Request[Site]) -> None:
    if request.value is not None and request.object is not None:
        assert_type(request.value.spec.replicas, int)
        assert_type(request.object, KubeObject)


def site_came(site: Stored[Site]) -> None:
    _ = (site.name, site.value.spec.replicas)


operator = Operator("sites")


@operator.reconciler(Site, owns=["deployments.apps"])
async def reconcile_site(found: Reconciliation[Site]) -> Result | None:
    assert_type(found.value.spec.replicas, int)
    return None


@operator.reconciler(Deployment)
async def reconcile_deployment(found: Reconciliation[Deployment]) -> Result | None:
    assert_type(found.value.spec.replicas, int | None)
    return None


def clients() -> None:
    Client.from_env(retry=RetryPolicy())
    Client.from_kubeconfig("config", context="c", namespace="n")
