"""``--storage-media-type``: objects are stored in CBOR, and nobody who asks the server notices."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from proreus.aio.clock import SystemClock
from proreus.api.wire import stored_cbor
from proreus.client import Client
from proreus.server.config import ServerConfig
from proreus.server.opening import objects_file, open_plain_storage
from proreus.server.storage.backup.folder import back_up_folder, restore_folder
from proreus.server.storage.formatted import StorageFormat
from proreus.testing.server import running_server
from tests.cbor import json_of
from tests.client_server.test_encryption_at_rest import provider, write_config
from tests.real_etcd import started_etcd

PLACE = "/registry/configmaps/default/"


@pytest.fixture(params=["sqlite", "etcd"])
def config(request: pytest.FixtureRequest, tmp_path: Path) -> ServerConfig:
    cbor = ServerConfig(data_dir=tmp_path / "data", storage_format=StorageFormat.CBOR)
    if request.param == "sqlite":
        return cbor
    closing = ExitStack()
    request.addfinalizer(closing.close)
    return replace(cbor, etcd=tuple(closing.enter_context(started_etcd()).endpoints))


def in_json(config: ServerConfig) -> ServerConfig:
    return replace(config, storage_format=StorageFormat.JSON)


async def create(client: Client, name: str) -> str:
    made = await client.core_v1.configmaps("default").create(
        {"metadata": {"name": name}, "data": {"k": name}}
    )
    return made.resource_version


async def stored(config: ServerConfig) -> dict[str, bytes]:
    async with open_plain_storage(config, SystemClock()) as storage:
        page = await storage.list(PLACE)
        return {item.key.removeprefix(PLACE): item.value for item in page.items}


def is_cbor(value: bytes) -> bool:
    return value.startswith(stored_cbor.SELF_DESCRIBED)


async def test_the_format_may_change_with_every_start_and_watches_go_on(
    config: ServerConfig,
) -> None:
    async with running_server(config) as server, server.client() as client:
        begun = await create(client, "a")
    async with running_server(in_json(config)) as server, server.client() as client:
        await create(client, "b")
    async with running_server(config) as server, server.client() as client:
        await create(client, "c")
        maps = client.core_v1.configmaps("default")
        async with maps.watch(resource_version=begun) as events:
            seen = [(await anext(events)).object.name for _ in range(2)]
        listed = {found.name: found.data for found in (await maps.list()).items}

    assert seen == ["b", "c"]
    assert [listed[name] for name in "abc"] == [{"k": "a"}, {"k": "b"}, {"k": "c"}]
    found = await stored(config)
    assert [is_cbor(found[name]) for name in "abc"] == [True, False, True]


async def test_clients_get_what_they_ask_for_and_a_replace_rewrites_the_other_format(
    tmp_path: Path,
) -> None:
    config = ServerConfig(data_dir=tmp_path, storage_format=StorageFormat.CBOR)
    async with running_server(in_json(config)) as server, server.client() as client:
        await create(client, "a")
    async with running_server(config) as server, server.client() as client:
        maps = client.core_v1.configmaps("default")
        before = await maps.get("a")
        rewritten = await maps.replace(before)
        assert (await maps.replace(rewritten)).resource_version == rewritten.resource_version
        assert before.resource_version != rewritten.resource_version
        headers = {"Authorization": f"Bearer {server.api.token}", "Accept": "application/cbor"}
        async with (
            aiohttp.ClientSession(server.api.url, headers=headers) as session,
            session.get("/api/v1/namespaces/default/configmaps/a") as answer,
        ):
            assert json_of(await answer.read())["data"] == {"k": "a"}

    assert is_cbor((await stored(config))["a"])


async def test_what_is_encrypted_is_the_cbor(tmp_path: Path) -> None:
    path = tmp_path / "encryption.yaml"
    entry = provider("aesgcm", "one")
    write_config(path, entry, {"identity": {}})
    config = ServerConfig(
        data_dir=tmp_path / "data",
        storage_format=StorageFormat.CBOR,
        encryption_config=path,
    )
    secret = {"metadata": {"name": "a"}, "stringData": {"k": "v"}}
    async with running_server(config) as server, server.client() as client:
        await client.core_v1.secrets("default").create(secret)
    async with running_server(in_json(config)) as server, server.client() as client:
        assert (await client.core_v1.secrets("default").get("a")).data == {"k": "dg=="}

    async with open_plain_storage(config, SystemClock()) as storage:
        found = await storage.get("/registry/secrets/default/a")
    assert found is not None
    assert found.value.startswith(b"k8s:enc:aesgcm:v1:one:")


async def test_a_backup_of_both_formats_is_restored_as_it_was(tmp_path: Path) -> None:
    config = ServerConfig(data_dir=tmp_path / "old", storage_format=StorageFormat.CBOR)
    async with running_server(config) as server, server.client() as client:
        await create(client, "a")
    async with running_server(in_json(config)) as server, server.client() as client:
        await create(client, "b")
        back_up_folder(objects_file(tmp_path / "old"), tmp_path / "backup", lambda _: None)
    restore_folder(
        tmp_path / "backup", objects_file(tmp_path / "new"),
        overwrite=False, skipped=0, progress=lambda _: None,
    )  # fmt: skip

    restored = replace(config, data_dir=tmp_path / "new")
    found = await stored(restored)
    assert [is_cbor(found[name]) for name in "ab"] == [True, False]
    async with running_server(in_json(restored)) as server, server.client() as client:
        maps = client.core_v1.configmaps("default")
        assert [(await maps.get(name)).data for name in "ab"] == [{"k": "a"}, {"k": "b"}]
