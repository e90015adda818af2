"""StorageVersionMigrations over the wire: objects are stored anew, and nothing else happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.api.object import KubeObject
from proreus.api.wire.stored_cbor import SELF_DESCRIBED
from proreus.client import Client, conditions
from proreus.cluster.controllers import CONTROLLERS, run_controllers
from proreus.server.config import ServerConfig
from proreus.server.opening import open_plain_storage
from proreus.server.storage.formatted import StorageFormat
from proreus.testing.server import running_server
from tests.client_server.test_encryption_at_rest import PASSWORD, SECRET, provider, write_config
from tests.custom.asking import define, widgets
from tests.custom.definitions import INTEGER, definition, version, widget

NAME = "storage-version-migrator"
CHOSEN = {NAME: CONTROLLERS[NAME]}


def migrating(client: Client) -> Any:
    return background(run_controllers(client, SystemClock(), controllers=CHOSEN))


async def migrate(client: Client, resource: str, group: str = "", name: str = "m") -> KubeObject:
    """The migration when it has ended."""
    migrations = client.storagemigration_v1.storageversionmigrations
    spec = {"resource": {"group": group, "resource": resource}}
    await migrations.create({"metadata": {"name": name}, "spec": spec})
    ended = await migrations.wait_for(name, is_ended, timeout_s=60)
    assert ended is not None
    return ended


def is_ended(found: KubeObject | None) -> bool:
    return found is not None and any(
        conditions.is_true(found, phase) for phase in ("Succeeded", "Failed")
    )


async def stored_bytes(config: ServerConfig, prefix: str) -> list[bytes]:
    async with open_plain_storage(config, SystemClock()) as storage:
        return [item.value for item in (await storage.list(prefix)).items]


async def test_after_a_key_was_rotated_all_is_stored_under_the_new_one(tmp_path: Path) -> None:
    path, folder = tmp_path / "encryption.yaml", tmp_path / "data"
    config = ServerConfig(data_dir=folder, encryption_config=path)
    plain = ServerConfig(data_dir=folder)
    old, new = provider("aescbc", "old"), provider("secretbox", "new")
    write_config(path, old)
    async with running_server(config) as server, server.client() as client:
        for name in ("a", "b"):
            metadata = {"name": name, "namespace": "default"}
            await client.core_v1.secrets("default").create({**SECRET, "metadata": metadata})
    before = await stored_bytes(plain, "/registry/secrets/")
    assert [value.startswith(b"k8s:enc:aescbc:v1:old:") for value in before] == [True, True]

    write_config(path, new, old)
    async with running_server(config) as server, server.client() as client, migrating(client):
        ended = await migrate(client, "secrets")
        assert conditions.is_true(ended, "Succeeded")

    after = await stored_bytes(plain, "/registry/secrets/")
    assert [value.startswith(b"k8s:enc:secretbox:v1:new:") for value in after] == [True, True]
    write_config(path, new)
    async with running_server(config) as server, server.client() as client:
        found = await client.core_v1.secrets("default").get("b")
        assert found.data["password"] == SECRET["data"]["password"]  # type: ignore[index]
        assert PASSWORD not in b"".join(after)


async def test_after_the_format_was_changed_all_is_stored_in_the_new_one(tmp_path: Path) -> None:
    config = ServerConfig(data_dir=tmp_path)
    async with running_server(config) as server, server.client() as client:
        await define(client, definition(version("v1", spec={"size": INTEGER})))
        await widgets(client).create(widget("a", spec={"size": 1}))

    changed = ServerConfig(data_dir=tmp_path, storage_format=StorageFormat.CBOR)
    async with running_server(changed) as server, server.client() as client, migrating(client):
        before = await widgets(client).get("a")
        ended = await migrate(client, "widgets", "example.com")
        assert conditions.is_true(ended, "Succeeded")
        after = await widgets(client).get("a")

    assert after.spec == before.spec
    values = await stored_bytes(config, "/registry/example.com/widgets/")
    assert [value.startswith(SELF_DESCRIBED) for value in values] == [True]


async def test_custom_objects_are_stored_in_the_version_that_is_stored_now(tmp_path: Path) -> None:
    config = ServerConfig(data_dir=tmp_path)
    first, second = version("v1", spec={"size": INTEGER}), version("v2", spec={"size": INTEGER})
    async with running_server(config) as server, server.client() as client, migrating(client):
        await define(client, definition({**first}, {**second, "storage": False}))
        await widgets(client).create(widget("a", spec={"size": 1}))
        definitions = client.apiextensions_v1.customresourcedefinitions
        changed = definition({**first, "storage": False}, {**second})
        await definitions.patch("widgets.example.com", {"spec": changed["spec"]})
        await definitions.wait_for(
            "widgets.example.com",
            lambda found: found is not None and "v2" in (found.status.storedVersions or ()),
            timeout_s=60,
        )

        ended = await migrate(client, "widgets", "example.com")
        assert conditions.is_true(ended, "Succeeded"), ended.to_dict()["status"]
        found = await definitions.get("widgets.example.com")
        assert found.to_dict()["status"]["storedVersions"] == ["v2"], (
            "nothing is stored in another one"
        )

    (stored,) = await stored_bytes(config, "/registry/example.com/widgets/")
    assert stored.startswith(b'{"metadata":{"storedVersion":"v2",')


async def test_objects_that_are_stored_as_they_would_be_now_stay_untouched() -> None:
    async with running_server() as server, server.client() as client, migrating(client):
        made = await client.core_v1.configmaps("default").create({"metadata": {"name": "a"}})

        ended = await migrate(client, "configmaps")
        again = await client.core_v1.configmaps("default").get("a")

    assert again.to_dict() == made.to_dict()
    status = ended.to_dict()["status"]
    assert [(one["type"], one["status"], one["reason"]) for one in status["conditions"]] == [
        ("Running", "False", "StorageVersionMigrationInProgress"),
        ("Succeeded", "True", "StorageVersionMigrationSucceeded"),
    ]
    assert int(status["resourceVersion"]) >= int(made.resource_version)


@pytest.mark.parametrize(
    ("resource", "group", "why"),
    [
        ("nothings", "example.com", "resource does not exist in discovery"),
        ("pods", "apps", "resource does not exist in discovery"),
        (
            "tokenreviews",
            "authentication.k8s.io",
            'resource "authentication.k8s.io/v1, Resource=tokenreviews" does not support discovery '
            "operations: [update patch list]",
        ),
    ],
)
async def test_what_cannot_be_migrated_fails(resource: str, group: str, why: str) -> None:
    async with running_server() as server, server.client() as client, migrating(client):
        ended = await migrate(client, resource, group)

    failed = conditions.find(ended, "Failed")
    assert (failed.reason, failed.message) == ("StorageVersionMigrationFailed", why)


async def test_a_migration_goes_on_where_a_controller_left_it() -> None:
    async with running_server() as server, server.client() as client:
        await client.core_v1.configmaps("default").create({"metadata": {"name": "a"}})
        migrations = client.storagemigration_v1.storageversionmigrations
        made = await migrations.create(
            {"metadata": {"name": "m"}, "spec": {"resource": {"resource": "configmaps"}}}
        )
        running = conditions.condition(
            "Running", "True", "StorageVersionMigrationInProgress", "", SystemClock().now()
        )
        status = {"resourceVersion": made.resource_version, "conditions": [running]}
        await migrations.patch_status("m", {"status": status})

        async with migrating(client):
            ended = await migrations.wait_for("m", is_ended, timeout_s=60)

    assert ended is not None
    assert conditions.is_true(ended, "Succeeded")
    assert ended.status.resourceVersion == made.resource_version
