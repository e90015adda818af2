"""Every verb of the client against the real server, over TLS."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from proreus.client import (
    AlreadyExists,
    ApiError,
    Client,
    ConditionNotMet,
    Conflict,
    Expired,
    Invalid,
    NotFound,
    UnknownResource,
)
from proreus.client.informer import SharedInformerFactory
from tests.client_server.objects import deployment, pod


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"name": name}}, "data": data}


async def test_an_object_is_created_read_replaced_and_deleted(client: Client) -> None:
    maps = client.core_v1.configmaps(client.namespace)

    made = await maps.create(config_map("a", k="1"))
    with pytest.raises(AlreadyExists):
        await maps.create(config_map("a"))
    changed = made.to_dict()
    changed["data"]["k"] = "2"
    replaced = await maps.replace(changed)
    with pytest.raises(Conflict):
        await maps.replace(made)
    found = await maps.get("a")
    gone = await maps.delete("a", uid=found.uid)
    with pytest.raises(NotFound, match='configmaps "a" not found'):
        await maps.get("a")

    assert (made.kind, made.api_version, made.key) == ("ConfigMap", "v1", f"{client.namespace}/a")
    assert found == replaced
    assert found["data"]["k"] == "2"
    assert gone.kind == "Status" and gone.status == "Success"


async def test_dry_run_stores_nothing_and_bad_objects_are_refused(client: Client) -> None:
    maps = client.core_v1.configmaps(client.namespace)

    assert (await maps.create(config_map("a"), dry_run=True)).uid
    with pytest.raises(NotFound):
        await maps.get("a")
    with pytest.raises(Invalid) as caught:
        await maps.create(config_map("Not A Name"))
    assert caught.value.causes


async def test_patches_of_all_types(client: Client) -> None:
    maps, deployments = (
        client.core_v1.configmaps(client.namespace),
        client.apps_v1.deployments(client.namespace),
    )
    await maps.create(config_map("a", k="1"))
    await deployments.create(deployment("d"))

    merged = await maps.patch("a", {"data": {"m": "2"}})
    by_json = await maps.patch(
        "a", [{"op": "replace", "path": "/data/k", "value": "3"}], type="json"
    )
    container = {"name": "c", "image": "new"}
    strategic = await deployments.patch(
        "d", {"spec": {"template": {"spec": {"containers": [container]}}}}, type="strategic"
    )

    assert merged.data == {"k": "1", "m": "2"}
    assert by_json["data"]["k"] == "3"
    assert strategic.spec.template.spec.containers[0].image == "new"


async def test_apply_creates_changes_and_respects_other_owners(client: Client) -> None:
    maps = client.core_v1.configmaps(client.namespace)

    await maps.apply(config_map("a", k="1"), field_manager="one")
    again = await maps.apply(config_map("a", k="2"), field_manager="one")
    with pytest.raises(Conflict):
        await maps.apply(config_map("a", k="3"), field_manager="two")
    forced = await maps.apply(config_map("a", k="3"), field_manager="two", force=True)

    assert (again["data"]["k"], forced["data"]["k"]) == ("2", "3")
    assert {entry.manager for entry in forced.metadata.managedFields or ()} == {"one", "two"}


async def test_lists_select_and_come_in_pages_of_one_state(client: Client) -> None:
    maps = client.core_v1.configmaps(client.namespace)
    for number in range(7):
        await maps.create(config_map(f"m{number}"))

    whole = await maps.list()
    pages = [page async for page in maps.pages(page_size=3)]
    collected = await maps.list_all(page_size=2)
    one = await maps.list(label_selector="name in (m3)")
    named = await client.core_v1.configmaps.in_all_namespaces().list(
        field_selector="metadata.name=m4"
    )

    names = [f"m{number}" for number in range(7)]
    assert [each.name for each in whole if each.name in names] == names
    assert [each.name for page in pages for each in page] == [each.name for each in whole]
    assert len({page.resource_version for page in pages}) == 1
    assert [each.name for each in collected] == [each.name for each in whole]
    assert [each.name for each in one] == ["m3"]
    assert [each.kind for each in named] == ["ConfigMap"]


async def test_metadata_only_brings_no_data(client: Client) -> None:
    maps = client.core_v1.configmaps(client.namespace)
    await maps.create(config_map("a", k="1"))

    [found] = (await maps.metadata_only.list(label_selector="name=a")).items
    single = await maps.metadata_only.get("a")

    for each in (found, single):
        assert each.kind == "PartialObjectMetadata"
        assert each.labels == {"name": "a"}
        assert each.data is None


async def test_a_watch_follows_from_a_version(client: Client) -> None:
    maps = client.core_v1.configmaps(client.namespace)
    start = await maps.list()

    async with maps.watch(resource_version=start.resource_version) as events:
        await maps.create(config_map("a"))
        await maps.patch("a", {"data": {"k": "1"}})
        await maps.delete("a")
        seen = [await anext(events) for _ in range(3)]

    assert [event.type for event in seen] == ["ADDED", "MODIFIED", "DELETED"]
    versions = [int(event.object.resource_version) for event in seen]
    assert versions == sorted(set(versions))


async def test_a_watch_can_begin_with_the_present_state(client: Client) -> None:
    maps = client.core_v1.configmaps(client.namespace)
    await maps.create(config_map("a"))

    async with maps.watch(send_initial_events=True, label_selector="name=a") as events:
        first, end = await anext(events), await anext(events)

    assert (first.type, first.object.name) == ("ADDED", "a")
    assert end.type == "BOOKMARK"
    assert end.object.annotations["k8s.io/initial-events-end"] == "true"


async def test_a_watch_ends_at_its_timeout(client: Client) -> None:
    async with client.core_v1.pods.watch(timeout_s=1) as events:
        async for _ in events:
            pass


async def test_a_version_from_the_future_is_an_error(client: Client) -> None:
    with pytest.raises(ApiError):
        async with client.core_v1.pods.watch(resource_version="nonsense") as events:
            await anext(events)


async def test_large_objects_pass_in_one_event(client: Client) -> None:
    maps = client.core_v1.configmaps(client.namespace)
    text = "ß" * 500_000
    start = await maps.list()

    async with maps.watch(resource_version=start.resource_version) as events:
        await maps.create(config_map("big", text=text))
        event = await anext(events)

    assert event.object["data"]["text"] == text


async def test_a_collection_is_deleted_by_selector(client: Client) -> None:
    maps = client.core_v1.configmaps(client.namespace)
    for name in ("a", "b"):
        await maps.create(config_map(name))

    await maps.delete_collection(label_selector="name=a")

    assert [each.name for each in await maps.list(label_selector="name in (a,b)")] == ["b"]


async def test_a_collection_seen_as_metadata_is_deleted_like_any_other(client: Client) -> None:
    """The answer to it is a list: a server refuses to show one as a single object's metadata."""
    maps = client.core_v1.configmaps(client.namespace)
    await maps.create(config_map("a"))

    await maps.metadata_only.delete_collection(label_selector="name=a")

    assert not [each.name for each in await maps.list(label_selector="name=a")]


async def test_waiting_for_conditions_creation_and_deletion(client: Client) -> None:
    pods = client.core_v1.pods(client.namespace)
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}

    async with asyncio.TaskGroup() as tasks:
        created = tasks.create_task(pods.wait_for("p", "create"))
        is_ready = tasks.create_task(pods.wait_for("p", "condition=Ready"))
        await pods.create(pod("p"))
        await created
        await pods.patch_status("p", ready)
    found = is_ready.result()
    async with asyncio.TaskGroup() as tasks:
        deleted = tasks.create_task(pods.wait_deleted("p"))
        await pods.delete("p", grace_period_s=0)

    assert found.name == "p" and deleted.done()
    with pytest.raises(ConditionNotMet):
        await pods.wait_for("p", "create", timeout_s=0.05)


async def test_any_resource_is_found_by_name_kind_or_object(client: Client) -> None:
    by_name = client.resource("deploy")(client.namespace)
    by_kind = client.resource(api_version="apps/v1", kind="Deployment")(client.namespace)

    await by_name.create(deployment("d"))
    found = await by_kind.get("d")

    assert (await client.resource_of(found).get("d")).uid == found.uid
    assert (await client.autoscaling_v2.horizontalpodautoscalers.list()).items == []
    with pytest.raises(UnknownResource):
        await client.resource("widgets.example.com").list()


async def test_discovery_knows_all_that_is_served(client: Client) -> None:
    mapper = await client.discovery.mapper()

    assert {"status", "log", "eviction"} <= mapper.by_name("po").subresources
    assert "watch" in mapper.by_name("deployments.apps").verbs
    assert mapper.by_name("crd").kind == "CustomResourceDefinition"
    assert (await client.version())["major"] == "1"
    assert await client.get_raw("/livez") == b"ok"


async def test_an_informer_mirrors_the_server(client: Client) -> None:
    maps = client.core_v1.configmaps(client.namespace)
    await maps.create(config_map("before"))

    async with SharedInformerFactory(client) as informers:
        lister = informers.lister("configmaps", namespace=client.namespace)
        informers.start()
        await informers.wait_for_cache_sync(timeout_s=60)
        made = await maps.create(config_map("after"))
        mirrored = await lister.get("after", client.namespace, at_least=made.resource_version)

    assert mirrored == made
    assert lister.find("before", client.namespace) is not None


async def test_an_expired_continue_token_is_said(client: Client) -> None:
    with pytest.raises((Expired, ApiError)):
        await client.core_v1.configmaps(client.namespace).list(limit=1, continue_token="nonsense")
