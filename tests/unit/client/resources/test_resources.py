"""Every verb as the bytes it becomes, and the names that lead to a resource."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.api.wire import json
from proreus.client import Client, ClientConfig, InvalidRequest, PatchType, UnknownResource
from proreus.client.resources.builtin import BUILTIN
from proreus.server.kinds import builtin_resources
from tests.unit.client.scripted_server import (
    HastyClock,
    Received,
    ScriptedServer,
    Step,
    answer,
    stream,
)

POD = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "namespace": "own"}}
POD_LIST = {
    "kind": "PodList",
    "apiVersion": "v1",
    "metadata": {"resourceVersion": "3"},
    "items": [],
}


@contextlib.asynccontextmanager
async def against(*steps: Step) -> AsyncIterator[tuple[Client, ScriptedServer]]:
    async with ScriptedServer(list(steps) or [answer(200, POD)], repeats=True).running() as server:
        config = ClientConfig(server.url, namespace="ctx", disk_cache=False)
        async with Client(config, clock=HastyClock()) as client:
            yield client, server


def seen(request: Received) -> tuple[str, str]:
    return request.method, request.path


async def test_reading_verbs() -> None:
    async with against() as (client, server):
        pods = client.core_v1.pods
        assert (await pods("a").get("p", resource_version="0")).name == "p"
        await pods("a").get("p", subresource="status")
        await pods.get("p")
        await client.core_v1.nodes.get("n")

    assert [seen(one) for one in server.requests] == [
        ("GET", "/api/v1/namespaces/a/pods/p"),
        ("GET", "/api/v1/namespaces/a/pods/p/status"),
        ("GET", "/api/v1/namespaces/ctx/pods/p"),
        ("GET", "/api/v1/nodes/n"),
    ]
    assert server.requests[0].query == {"resourceVersion=0"}


async def test_lists_of_all_namespaces_of_one_and_in_pages() -> None:
    async with against(answer(200, POD_LIST)) as (client, server):
        pods = client.core_v1.pods.in_all_namespaces()
        found = await pods.list(label_selector="a=b", field_selector="c!=d", limit=3)
        await pods("a").list()
        await pods("a").list_all(page_size=7)
        assert [page.resource_version async for page in pods.pages(page_size=9)] == ["3"]

    assert found.resource_version == "3"
    paths = [one.path for one in server.requests]
    assert paths[0] == paths[3] == "/api/v1/pods"
    assert paths[1] == paths[2] == "/api/v1/namespaces/a/pods"
    queries = [one.query for one in server.requests]
    assert queries[0] == {"labelSelector=a%3Db", "fieldSelector=c%21%3Dd", "limit=3"}
    assert queries[1:] == [set(), {"limit=7"}, {"limit=9"}]


async def test_metadata_only_asks_for_it() -> None:
    async with against(answer(200, POD_LIST), answer(200, POD)) as (client, server):
        pods = client.core_v1.pods("a").metadata_only
        await pods.list()
        await pods.get("p")

    accepts = [one.headers["accept"] for one in server.requests]
    assert "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" in accepts[0]
    assert "as=PartialObjectMetadata;g=meta.k8s.io;v=v1" in accepts[1]


async def test_a_watch_carries_its_options() -> None:
    line = b'{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"p"}}}\n'
    async with against(stream([line])) as (client, server):
        pods = client.core_v1.pods("a")
        async with pods.watch(resource_version="5", label_selector="a", timeout_s=60) as events:
            assert [event.object.name async for event in events] == ["p"]
        async with pods.watch(send_initial_events=True):
            pass

    assert server.requests[0].query == {
        "watch=true",
        "allowWatchBookmarks=true",
        "resourceVersion=5",
        "labelSelector=a",
        "timeoutSeconds=60",
    }
    assert server.requests[1].query == {
        "watch=true",
        "allowWatchBookmarks=true",
        "sendInitialEvents=true",
        "resourceVersionMatch=NotOlderThan",
    }


async def test_writing_verbs() -> None:
    pod = KubeObject.from_dict(POD)
    async with against() as (client, server):
        pods = client.resource("pods")
        await pods("own").create(pod, dry_run=True, field_manager="m", field_validation="Strict")
        await pods.create({"metadata": {"name": "p"}})
        await pods.replace(pod)
        await pods("own").replace_status(pod)
        await pods.apply(pod, field_manager="m", force=True)
        await pods("own").apply_status(pod)

    assert [seen(one) for one in server.requests] == [
        ("POST", "/api/v1/namespaces/own/pods"),
        ("POST", "/api/v1/namespaces/ctx/pods"),
        ("PUT", "/api/v1/namespaces/own/pods/p"),
        ("PUT", "/api/v1/namespaces/own/pods/p/status"),
        ("PATCH", "/api/v1/namespaces/own/pods/p"),
        ("PATCH", "/api/v1/namespaces/own/pods/p/status"),
    ]
    first, second, *_, apply, apply_status = server.requests
    assert first.query == {"dryRun=All", "fieldManager=m", "fieldValidation=Strict"}
    assert json.decode(second.body) == {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p"},
    }
    assert apply.query == {"fieldManager=m", "force=true"}
    assert apply.headers["content-type"] == "application/apply-patch+yaml"
    assert any(part.startswith("fieldManager=") for part in apply_status.query)


async def test_patches_of_every_type() -> None:
    async with against() as (client, server):
        pods = client.core_v1.pods("a")
        await pods.patch("p", {"spec": {}})
        await pods.patch("p", [{"op": "remove", "path": "/x"}], type="json")
        await pods.patch("p", {"spec": KubeObject.from_dict(POD).metadata}, type="strategic")
        await pods.patch("p", b"{}", type=PatchType.APPLY, field_manager="m", force=True)
        await pods.patch_status("p", {"status": {}})
        with pytest.raises(InvalidRequest, match="odd"):
            await pods.patch("p", {}, type="odd")

    assert [
        one.headers["content-type"].removeprefix("application/") for one in server.requests
    ] == [
        "merge-patch+json",
        "json-patch+json",
        "strategic-merge-patch+json",
        "apply-patch+yaml",
        "merge-patch+json",
    ]
    assert json.decode(server.requests[1].body) == [{"op": "remove", "path": "/x"}]
    assert json.decode(server.requests[2].body)["spec"]["name"] == "p"
    assert server.requests[4].path.endswith("/pods/p/status")


async def test_deleting() -> None:
    async with against() as (client, server):
        pods = client.core_v1.pods("a")
        await pods.delete("p")
        await pods.delete(
            "p", grace_period_s=0, propagation="Orphan", uid="u", resource_version="7", dry_run=True
        )
        await pods.delete_collection(label_selector="a=b", grace_period_s=5)

    plain, full, collection = (json.decode(one.body) for one in server.requests)
    assert plain == {"kind": "DeleteOptions", "apiVersion": "v1"}
    assert full == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Orphan",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "dryRun": ["All"],
    }
    assert collection["gracePeriodSeconds"] == 5
    assert seen(server.requests[2]) == ("DELETE", "/api/v1/namespaces/a/pods")
    assert server.requests[2].query == {"labelSelector=a%3Db"}


async def test_parts_of_objects() -> None:
    async with against() as (client, server):
        deployments = client.apps_v1.deployments("a")
        await deployments.get_scale("d")
        await deployments.set_scale("d", 3)
        pods = client.core_v1.pods("a")
        await pods.evict("p", grace_period_s=1)
        await pods.bind("p", "node-1")

    assert [seen(one) for one in server.requests] == [
        ("GET", "/apis/apps/v1/namespaces/a/deployments/d/scale"),
        ("PATCH", "/apis/apps/v1/namespaces/a/deployments/d/scale"),
        ("POST", "/api/v1/namespaces/a/pods/p/eviction"),
        ("POST", "/api/v1/namespaces/a/pods/p/binding"),
    ]
    bodies = [json.decode(one.body) for one in server.requests[1:]]
    assert bodies[0] == {"spec": {"replicas": 3}}
    assert bodies[1]["deleteOptions"] == {"gracePeriodSeconds": 1}
    assert bodies[2]["target"]["name"] == "node-1"


async def test_logs_whole_and_followed() -> None:
    steps = [answer(200, b"a\n\nb", "text/plain"), stream([b"a\n", b"\nb\nc"])]
    async with against(*steps) as (client, server):
        pods = client.core_v1.pods("a")
        assert await pods.logs("p", container="c", tail_lines=0, timestamps=True) == "a\n\nb"
        async with pods.follow_logs("p", since_s=5) as lines:
            assert [line async for line in lines] == ["a", "", "b", "c"]

    assert server.requests[0].query == {"container=c", "tailLines=0", "timestamps=true"}
    assert server.requests[1].query == {"follow=true", "sinceSeconds=5"}


@pytest.mark.parametrize("verb", ["get", "delete"])
async def test_a_missing_name_is_refused_before_anything_is_sent(verb: str) -> None:
    async with against() as (client, server):
        with pytest.raises(InvalidRequest):
            await getattr(client.core_v1.pods("a"), verb)("")
        with pytest.raises(InvalidRequest):
            await client.core_v1.pods("a").replace({})
        with pytest.raises(InvalidRequest, match="managedFields"):
            await client.core_v1.pods.apply({"metadata": {"name": "p", "managedFields": [1]}})

    assert server.requests == []


def names(client: Client, *resources: Any) -> list[str]:
    found = [one._scope.resource for one in resources]
    return [f"{one.group_version}/{one.name}" for one in found]


async def test_built_in_resources_need_no_question() -> None:
    async with against() as (client, server):
        assert names(
            client,
            client.core_v1.pods,
            client.rbac_v1.roles,
            client.rbac_v1.roles,
            client.autoscaling_v2.horizontalpodautoscalers,
            client.resource("deploy"),
            client.resource("deployments.apps"),
            client.resource(api_version="batch/v1", kind="Job"),
            client.resource_of(POD),
        ) == [
            "v1/pods",
            "rbac.authorization.k8s.io/v1/roles",
            "rbac.authorization.k8s.io/v1/roles",
            "autoscaling/v2/horizontalpodautoscalers",
            "apps/v1/deployments",
            "apps/v1/deployments",
            "batch/v1/jobs",
            "v1/pods",
        ]
        assert client.resource_of(POD).namespace == "own"
        assert server.requests == []


async def test_other_resources_are_looked_up_when_first_used() -> None:
    widgets: dict[str, Any] = {
        "/api": {"versions": []},
        "/apis": {
            "groups": [
                {"name": "shop.example.com", "versions": [{"groupVersion": "shop.example.com/v1"}]}
            ]
        },
        "/apis/shop.example.com/v1": {
            "resources": [{"name": "widgets", "kind": "Widget", "namespaced": True}]
        },
    }

    async def by_path(received: Received, connection: Any) -> None:
        document = widgets.get(received.path, POD)
        await answer(200, document)(received, connection)

    async with against(by_path) as (client, server):
        for resource in (
            client.shop_example_com_v1.widgets,  # type: ignore[attr-defined]
            client.resource("widgets.shop.example.com"),
            client.resource(api_version="shop.example.com/v1", kind="Widget"),
        ):
            await resource("a").get("w")
            await resource("a").get("w")
        with pytest.raises(UnknownResource):
            await client.resource("nothing").list()
        by_part = client.shop_v1.widgets  # type: ignore[attr-defined]
        assert (await by_part.api_resource()).kind == "Widget"

    gets = [one.path for one in server.requests if one.path.endswith("/w")]
    assert gets == ["/apis/shop.example.com/v1/namespaces/a/widgets/w"] * 6
    assert [one.path for one in server.requests].count("/apis") == 2


async def test_the_client_says_what_it_does_not_know() -> None:
    async with against(answer(200, {"gitVersion": "v1"})) as (client, server):
        with pytest.raises(AttributeError):
            _ = client.pods  # type: ignore[attr-defined]
        with pytest.raises(AttributeError):
            _ = client.core_v1._private  # type: ignore[attr-defined]
        for wrong in ({}, {"kind": "Pod"}, {"name": "pods", "kind": "Pod"}):
            with pytest.raises(InvalidRequest):
                client.resource(**wrong)
        assert (await client.version())["gitVersion"] == "v1"
        assert await client.get_raw("/readyz") == b'{"gitVersion":"v1"}'
        assert repr(client) == f"<Client of {server.url}>"
        assert repr(client.core_v1) == "<GroupClient core_v1>"
        assert repr(client.core_v1.pods("a")) == "<ResourceClient core_v1.pods in a>"
        assert client.namespace == "ctx"


def test_the_built_in_table_agrees_with_what_our_server_serves() -> None:
    served = {
        (one.group, one.version, one.plural, one.kind, one.namespaced, one.names.short_names)
        for one in builtin_resources()
    }
    known = {
        (one.group, one.version, one.name, one.kind, one.namespaced, one.short_names)
        for one in BUILTIN
    }

    assert known == served


def test_importing_the_client_loads_neither_server_nor_http_library() -> None:
    import subprocess

    program = (
        "import sys, proreus.client; from proreus.client import Client, KubeObject;"
        "heavy = ('aiohttp', 'yaml', 'structlog', 'prometheus_client', 'cryptography', 'click',"
        " 'grpc', 'sqlite3', 'proreus.server', 'proreus.cli', 'proreus.testing');"
        "print([name for name in heavy if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert found.stdout.strip() == "[]"
