"""A program without ``await``, as users write it: no line of it is refused by a type checker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_type

from proreus.api.kinds.apps_v1 import Deployment
from proreus.api.kinds.core_v1 import ConfigMap, Node, Pod
from proreus.blocking import (
    Client,
    EventRecorder,
    Informer,
    LeaderElector,
    Lister,
    Operator,
    Reconciliation,
    ResourceClient,
    SharedInformerFactory,
    Term,
    Typed,
    TypedInformer,
    register,
)
from proreus.client import (
    KubeObject,
    ObjectList,
    Result,
    RetryPolicy,
    Stored,
    WatchEvent,
    custom_resource,
)


def verbs(client: Client) -> None:
    pods = client.core_v1.pods("default")
    assert_type(pods, ResourceClient[Pod])
    assert_type(pods.get("web").spec.nodeName, str | None)
    assert_type(pods.list(label_selector="app=web"), ObjectList[Pod])
    assert_type(pods.list_all(), ObjectList[Pod])
    with pods.watch() as events:
        for event in events:
            assert_type(event, WatchEvent[Pod])
    for change in pods.events():
        assert_type(change.object, Pod)
    assert_type(pods.wait_for("web", lambda it: it.status.phase == "Running"), Pod)
    assert_type(pods.logs("web"), str)
    assert_type(client.core_v1.nodes.get("n1"), Node)
    assert_type(client.core_v1.configmaps("default").modify("a", relabelled), ConfigMap)
    assert_type(client.resource(Pod).get("web"), Pod)
    assert_type(client.resource("widgets.example.com").get("w"), KubeObject)
    with pods.port_forward("web", 80) as port:
        assert_type(port, int)
    with pods.command("web", ["ls"]) as running:
        assert_type(running.exit_code, int | None)


def relabelled(obj: dict[str, object]) -> None:
    obj["data"] = {}


def informers(client: Client) -> None:
    with SharedInformerFactory(client, namespace="default") as factory:
        pods = factory.informer(Pod, label_selector="app=web", indexes={"node": node_of})
        assert_type(pods, Informer[Pod])
        assert_type(pods.lister, Lister[Pod])
        assert_type(pods.lister.get("web", "default", at_least="7").spec.nodeName, str | None)
        assert_type(pods.lister.by_index("node", "n1"), list[Pod])
        assert_type(factory.lister(Node).list(), list[Node])
        assert_type(factory.informer("widgets").lister.get("w"), KubeObject)
        pods.add_handler(on_add=placed, on_update=lambda old, new: placed(new))


def node_of(pod: Pod) -> tuple[str, ...]:
    return (pod.spec.nodeName or "",)


def placed(pod: Pod) -> None:
    _ = (pod.name, pod.spec.nodeName)


@dataclass
class SiteSpec:
    replicas: int = 1


@custom_resource(group="example.com", version="v1")
@dataclass
class Site:
    spec: SiteSpec


def of_ones_own_kind(client: Client, informers: SharedInformerFactory) -> None:
    register(client, Site)
    sites = Typed(client, Site, "default")
    assert_type(sites.create("a", Site(SiteSpec())), Stored[Site])
    assert_type(sites.list()[0].value.spec.replicas, int)
    informer = sites.informer(informers)
    assert_type(informer, TypedInformer[Site])
    assert_type(informer.get("a", "default").value, Site)
    informer.add_handler(on_add=site_came)


def site_came(site: Stored[Site]) -> None:
    _ = (site.name, site.value.spec.replicas)


def operators(client: Client) -> None:
    operator = Operator("sites", client)

    @operator.reconciler(Site, owns=["deployments.apps"], finalizer="example.com/gone")
    def reconcile_site(found: Reconciliation[Site]) -> Result | None:
        assert_type(found.value.spec.replicas, int)
        assert_type(found.client.core_v1.pods.get("a"), Pod)
        return None

    @reconcile_site.finalize
    def farewell(found: Reconciliation[Site]) -> None:
        assert_type(found.lister(Deployment).get("a"), Deployment)

    @operator.reconciler(Deployment)
    def reconcile_deployment(found: Reconciliation[Deployment]) -> None:
        assert_type(found.value.spec.replicas, int | None)

    operator.run()


def leading(client: Client) -> None:
    elector = LeaderElector(client, "lease", "me")

    def work(term: Term) -> None:
        with EventRecorder(client, "me") as recorder:
            recorder.event(client.core_v1.pods.get("a"), "Normal", "Seen", "it was seen")
        term.wait_ended(5.0)

    elector.run(work)


def clients() -> None:
    Client.from_env(retry=RetryPolicy())
    Client.from_kubeconfig("config", context="c", namespace="n")
    Client.in_cluster()
