"""kubectl, kopf, kr8s and the official client work with custom resources, unchanged."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.custom.definitions import INTEGER, TEXT, definition, version
from tests.custom.operators import PATIENCE, PATIENCE_S, Kubectl, established, operator, until
from tests.running_server import RunningServer

# Other people's clients do not always close what they opened.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def _collect_what_they_left() -> Iterator[None]:
    yield
    gc.collect()


def gadget(plural: str, kind: str) -> dict[str, Any]:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    return definition(
        version(
            spec={"size": {**INTEGER, "default": 1, "description": "How big."}, "color": TEXT},
            status={"phase": TEXT, "size": INTEGER},
            subresources={"status": {}, "scale": scale},
            additionalPrinterColumns=[
                {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1},
            ],
        ),
        plural=plural,
        kind=kind,
        categories=["all"],
    )


def instance(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": kind, "metadata": metadata, "spec": spec}


def test_kubectl_does_all_it_can_do(run_kubectl: Kubectl) -> None:
    established(run_kubectl, gadget("gadgets", "Gadget"))
    body = orjson.dumps(instance("Gadget", "a", color="red")).decode()

    run_kubectl("apply", "-f", "-", stdin=body)
    assert run_kubectl("get", "gadgets").split() == ["NAME", "SIZE", "a", "1"]
    assert "red" in run_kubectl("get", "gadgets", "-o", "wide")
    assert "gadget.example.com/a" in run_kubectl("get", "all", "-o", "name")
    assert "How big." in run_kubectl("explain", "gadgets.spec.size")
    run_kubectl("patch", "gadget", "a", "--type=merge", "-p", '{"spec":{"size":3}}')
    run_kubectl("scale", "gadget/a", "--replicas=4")
    run_kubectl("edit", "gadget", "a", KUBE_EDITOR="sed -i s/red/blue/")
    run_kubectl("wait", "gadget/a", "--for=jsonpath={.spec.color}=blue", PATIENCE)
    run_kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=body)
    assert run_kubectl("get", "gadget", "a", "-o", "jsonpath={.spec}") == (
        '{"color":"red","size":4}'
    )
    run_kubectl("delete", "crd", "gadgets.example.com")


OPERATOR = """
    @kopf.on.create("example.com", "v1", "gizmos")
    def made(spec, **_):
        return {"size": spec["size"]}

    @kopf.on.update("example.com", "v1", "gizmos", field="spec.color")
    def painted(new, patch, **_):
        patch.status["phase"] = f"painted {new}"

    @kopf.on.startup()
    def quiet(settings, **_):
        settings.posting.enabled = False
"""


def test_kopf_runs_an_operator(
    separate_server: RunningServer, run_kubectl: Kubectl, tmp_path: Path
) -> None:
    body = gadget("gizmos", "Gizmo")
    schema = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["status"]["x-kubernetes-preserve-unknown-fields"] = True
    established(run_kubectl, body)

    with operator(separate_server, tmp_path, OPERATOR):
        made = orjson.dumps(instance("Gizmo", "a", size=7)).decode()
        run_kubectl("apply", "-f", "-", stdin=made)
        until(run_kubectl, "gizmo/a", ".status.made.size", "7")
        run_kubectl("patch", "gizmo", "a", "--type=merge", "-p", '{"spec":{"color":"red"}}')
        until(run_kubectl, "gizmo/a", ".status.phase", "painted red")
        run_kubectl("delete", "gizmo", "a", PATIENCE)


def test_the_official_dynamic_client_finds_the_kind(
    separate_server: RunningServer, run_kubectl: Kubectl, tmp_path: Path
) -> None:
    from kubernetes import config, dynamic

    established(run_kubectl, gadget("doodads", "Doodad"))
    client = dynamic.DynamicClient(
        config.new_client_from_config(str(separate_server.kubeconfig)),
        cache_file=str(tmp_path / "discovery"),
    )
    doodads = client.resources.get(api_version="example.com/v1", kind="Doodad")

    doodads.create(body=instance("Doodad", "a", color="red"), namespace="default")
    patched = doodads.patch(
        body={"spec": {"size": 9}},
        name="a",
        namespace="default",
        content_type="application/merge-patch+json",
    )

    assert patched.spec.to_dict() == {"color": "red", "size": 9}
    assert [item.metadata.name for item in doodads.get(namespace="default").items] == ["a"]


def test_the_official_dynamic_client_watches_the_kind(
    separate_server: RunningServer, run_kubectl: Kubectl, tmp_path: Path
) -> None:
    from kubernetes import config, dynamic

    established(run_kubectl, gadget("gizzards", "Gizzard"))
    client = dynamic.DynamicClient(
        config.new_client_from_config(str(separate_server.kubeconfig)),
        cache_file=str(tmp_path / "discovery"),
    )
    gizzards = client.resources.get(api_version="example.com/v1", kind="Gizzard")
    gizzards.create(body=instance("Gizzard", "a", color="red"), namespace="default")
    seen: list[tuple[str, int]] = []

    for event in gizzards.watch(namespace="default", timeout=PATIENCE_S):
        seen.append((event["type"], event["object"].spec.size))
        if event["type"] == "ADDED":
            body = {"spec": {"size": 2}}
            kind = "application/merge-patch+json"
            gizzards.patch(body=body, name="a", namespace="default", content_type=kind)
        elif event["type"] == "MODIFIED":
            gizzards.delete(name="a", namespace="default")
        else:
            break

    assert seen == [("ADDED", 1), ("MODIFIED", 2), ("DELETED", 2)]


@pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning")  # newer than it knows
async def test_kr8s_makes_and_reads_objects(
    separate_server: RunningServer, run_kubectl: Kubectl
) -> None:
    import kr8s
    from kr8s.asyncio.objects import new_class

    established(run_kubectl, gadget("widgets", "Widget"))
    api = await kr8s.asyncio.api(kubeconfig=str(separate_server.kubeconfig))
    kind = new_class("Widget", "example.com/v1", asyncio=True, namespaced=True, plural="widgets")
    made = await kind(instance("Widget", "a", color="red"), api=api)

    async with asyncio.timeout(PATIENCE_S):
        await made.create()
        await made.patch({"spec": {"size": 2}})
        found = [item async for item in kind.list(api=api, namespace="default")]

    assert [item.spec.to_dict() for item in found] == [{"color": "red", "size": 2}]
    assert api._session is not None
    await api._session.aclose()  # it has no way of its own to close its connections
