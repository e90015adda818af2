"""Informers of a real server: selections, metadata only, own writes, reads from other threads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from proreus.client import Client
from proreus.client.informer import ReflectorConfig, SharedInformerFactory, drop_managed_fields
from tests.any_server import any_client
from tests.unit.client.informer.harness import Diary


@pytest_asyncio.fixture
async def client(given_kubeconfig: str) -> AsyncIterator[Client]:
    async with any_client(given_kubeconfig) as connected:
        yield connected


@pytest.fixture(params=[True, False], ids=["streamed lists", "plain lists"])
def config(request: pytest.FixtureRequest) -> ReflectorConfig:
    return ReflectorConfig(stream_lists=request.param, page_size=0 if request.param else 2)


def config_map(name: str, **labels: str) -> dict[str, object]:
    return {"metadata": {"name": name, "labels": labels}, "data": {"k": "v"}}


async def test_pages_selectors_and_objects_that_leave_the_selection(
    client: Client, config: ReflectorConfig
) -> None:
    maps, diary = client.core_v1.configmaps(client.namespace), Diary()
    for name in "abcde":
        await maps.create(config_map(name, app="web" if name != "e" else "db"))
    scope = client.namespace
    async with SharedInformerFactory(client, namespace=scope, config=config) as informers:
        web = informers.informer("configmaps", label_selector="app=web")
        handler = web.add_handler(on_notification=diary)
        informers.start()
        await handler.wait_synced()
        diary.read()
        gone = await maps.patch("a", {"metadata": {"labels": {"app": "db"}}})
        come = await maps.patch("e", {"metadata": {"labels": {"app": "web"}}})
        await web.lister.get("e", client.namespace, at_least=come.resource_version)
        async with asyncio.timeout(60):
            while len(diary.notes) < 2:  # noqa: ASYNC110  # handlers hear of it after the cache
                await asyncio.sleep(0)

        assert sorted(obj.name for obj in web.lister.list()) == ["b", "c", "d", "e"]
        left, joined = diary.read()
        assert left.startswith(f"delete a {gone.resource_version}")
        assert joined == f"add e {come.resource_version}"


async def test_metadata_only_informers_hold_metadata_only(
    client: Client, config: ReflectorConfig
) -> None:
    maps = client.core_v1.configmaps(client.namespace)
    await maps.create(config_map("a", app="web"))
    async with SharedInformerFactory(client, config=config) as informers:
        slim = informers.informer("configmaps", metadata_only=True)
        informers.start()
        await informers.wait_for_cache_sync()
        made = await maps.create(config_map("b", app="web"))
        found = await slim.lister.get("b", client.namespace, at_least=made.resource_version)

        assert found.kind == "PartialObjectMetadata"
        assert found.labels == {"app": "web"}
        assert "data" not in found
        assert "data" not in slim.lister.get("a", client.namespace)


async def test_a_transform_drops_what_nobody_reads(client: Client) -> None:
    maps = client.core_v1.configmaps(client.namespace)
    fat = await maps.create(config_map("a"))
    async with SharedInformerFactory(client, transform=drop_managed_fields) as informers:
        slim = informers.lister("configmaps")
        informers.start()
        await informers.wait_for_cache_sync()
        found = slim.get("a", client.namespace)

        assert "managedFields" in fat["metadata"]
        assert "managedFields" not in found["metadata"]
        assert found["data"] == fat["data"]


async def test_own_writes_are_read_even_those_that_delete(client: Client) -> None:
    maps = client.core_v1.configmaps(client.namespace)
    async with SharedInformerFactory(client) as informers:
        lister = informers.lister("configmaps")
        informers.start()
        await informers.wait_for_cache_sync()
        for round_number in range(20):
            made = await maps.create(config_map("a"))
            found = await lister.get("a", client.namespace, at_least=made.resource_version)
            assert found.uid == made.uid
            await maps.delete("a")
            after = await maps.create(config_map(f"after-{round_number}"))
            await lister.wait_for_version(after.resource_version)
            assert lister.find("a", client.namespace) is None


async def test_listers_are_read_from_other_threads_while_the_cache_changes(client: Client) -> None:
    maps = client.core_v1.configmaps(client.namespace)
    await maps.create(config_map("stays", app="web"))
    async with SharedInformerFactory(client) as informers:
        lister = informers.lister("configmaps")
        informers.start()
        await informers.wait_for_cache_sync()

        def read(times: int) -> int:
            return sum(
                lister.get("stays", client.namespace).labels["app"] == "web"
                and any(
                    o.name == "stays"
                    for o in lister.list(namespace=client.namespace, label_selector="app")
                )
                for _ in range(times)
            )

        reading = asyncio.ensure_future(asyncio.to_thread(read, 2_000))
        while not reading.done():
            await maps.create(config_map("moves", app="web"))
            await maps.delete("moves")

        assert await reading == 2_000
