"""A namespace means the same to every verb."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from proreus.api.object import KubeObject
from proreus.client import InvalidRequest, ResourceClient
from tests.unit.client.resources.test_resources import POD, POD_LIST, against
from tests.unit.client.scripted_server import answer

Call: TypeAlias = Callable[[ResourceClient], Awaitable[Any]]

BODY = {"metadata": {"name": "p"}}
ONE: dict[str, Call] = {
    "get": lambda pods: pods.get("p"),
    "create": lambda pods: pods.create(BODY),
    "replace": lambda pods: pods.replace(BODY),
    "patch": lambda pods: pods.patch("p", {}),
    "apply": lambda pods: pods.apply(BODY),
    "delete": lambda pods: pods.delete("p"),
    "patch status": lambda pods: pods.patch_status("p", {}),
    "scale": lambda pods: pods.set_scale("p", 1),
    "evict": lambda pods: pods.evict("p"),
    "logs": lambda pods: pods.logs("p"),
}
COLLECTION: dict[str, Call] = {
    "list": lambda pods: pods.list(),
    "delete_collection": lambda pods: pods.delete_collection(),
}


@pytest.mark.parametrize("verb", [*ONE, *COLLECTION])
async def test_without_a_namespace_the_one_of_the_context_is_meant(verb: str) -> None:
    async with against(answer(200, POD_LIST if verb in COLLECTION else POD)) as (client, server):
        await (ONE | COLLECTION)[verb](client.resource("pods"))

    assert server.requests[0].path.startswith("/api/v1/namespaces/ctx/pods")


@pytest.mark.parametrize("verb", [*ONE, *COLLECTION])
async def test_a_namespace_that_is_named_is_meant(verb: str) -> None:
    async with against(answer(200, POD_LIST if verb in COLLECTION else POD)) as (client, server):
        await (ONE | COLLECTION)[verb](client.resource("pods").in_namespace("a"))

    assert server.requests[0].path.startswith("/api/v1/namespaces/a/pods")


@pytest.mark.parametrize("verb", [*ONE, "delete_collection"])
async def test_one_object_or_a_deletion_in_all_namespaces_is_refused(verb: str) -> None:
    async with against() as (client, server):
        with pytest.raises(InvalidRequest, match="pods in all namespaces: one object is meant"):
            await (ONE | COLLECTION)[verb](client.resource("pods").in_all_namespaces())

    assert server.requests == []


async def test_an_object_that_names_its_namespace_needs_no_other() -> None:
    pod = KubeObject.from_dict({"metadata": {"name": "p", "namespace": "own"}})
    async with against() as (client, server):
        pods = client.resource("pods")
        for chosen in (pods, pods.in_all_namespaces(), pods("own")):
            await chosen.create(pod)
            await chosen.replace(pod)

    assert {one.path for one in server.requests} == {
        "/api/v1/namespaces/own/pods",
        "/api/v1/namespaces/own/pods/p",
    }


async def test_an_object_of_another_namespace_is_refused() -> None:
    pod = {"metadata": {"name": "p", "namespace": "own"}}
    async with against() as (client, server):
        for write in (client.core_v1.pods("a").create, client.core_v1.pods("a").apply):
            with pytest.raises(
                InvalidRequest, match=r"names namespace 'own', but core_v1.pods in 'a'"
            ):
                await write(pod)

    assert server.requests == []


async def test_an_empty_namespace_and_one_for_what_is_in_none_are_refused() -> None:
    async with against() as (client, server):
        with pytest.raises(InvalidRequest, match=r"namespace is empty; in_all_namespaces\(\)"):
            client.core_v1.pods("")
        for call in (client.core_v1.nodes("a").list, client.core_v1.nodes("a").delete_collection):
            with pytest.raises(InvalidRequest, match="nodes are in no namespace"):
                await call()
        await client.core_v1.nodes.in_all_namespaces().get("n")

    assert [one.path for one in server.requests] == ["/api/v1/nodes/n"]


async def test_waiting_for_and_following_one_object_in_all_namespaces_is_refused() -> None:
    async with against() as (client, _):
        everywhere = client.core_v1.pods.in_all_namespaces()
        with pytest.raises(InvalidRequest):
            await everywhere.wait_for("p", "create")
        with pytest.raises(InvalidRequest):
            everywhere.events(name="p")


async def test_the_repr_says_which_namespace_is_meant() -> None:
    async with against() as (client, _):
        pods = client.core_v1.pods
        assert repr(pods) == "<ResourceClient core_v1.pods in ctx, the context's namespace>"
        assert repr(pods("a")) == "<ResourceClient core_v1.pods in a>"
        assert repr(pods.in_all_namespaces()) == "<ResourceClient core_v1.pods in all namespaces>"
        assert (pods.namespace, pods.in_all_namespaces().namespace) == ("ctx", "")
