"""A store may hold anything: a server starts, serves the rest, and says what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from proreus.aio.clock import SystemClock
from proreus.server.config import ServerConfig
from proreus.server.opening import open_plain_storage
from proreus.testing.server import running_server
from tests.custom.asking import WIDGETS, conditions, define, definitions, until, widgets
from tests.custom.definitions import INTEGER, TEXT, definition, version, widget

_DEFINITIONS = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
_GEARS = "gears.example.com"


async def prepared(config: ServerConfig) -> bytes:
    """A store with two kinds and an object of each; returns the stored bytes of the second."""
    async with running_server(config) as server, server.client() as client:
        await define(client, definition(version(spec={"size": INTEGER})))
        await define(
            client, definition(version(spec={"size": INTEGER}), plural="gears", kind="Gear")
        )
        await widgets(client).create(widget("a", spec={"size": 1}))
        gears = client.resource(api_version="example.com/v1", kind="Gear")("default")
        await gears.create({**widget("b", spec={"size": 2}), "kind": "Gear"})
    async with open_plain_storage(config, SystemClock()) as storage:
        page = await storage.list(_DEFINITIONS)
        return next(item.value for item in page.items if item.key.endswith(_GEARS))


async def overwrite(config: ServerConfig, key: str, value: bytes) -> None:
    async with open_plain_storage(config, SystemClock()) as storage:
        found = await storage.get(key)
        assert found is not None
        await storage.update(key, value, expected=found.revision)


def broken(stored: bytes, what: str) -> bytes:
    obj: dict[str, Any] = orjson.loads(stored)
    match what:
        case "bytes that are no JSON":
            return stored[: len(stored) // 2]
        case "no object":
            return b"[]"
        case "nothing but a name":
            return orjson.dumps({"metadata": {"name": _GEARS}})
        case "no versions":
            obj["spec"]["versions"] = None
        case "a version without a schema":
            del obj["spec"]["versions"][0]["schema"]
        case "fields that are a list":
            obj["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] = ["size"]
        case "a status that is a list":
            obj["status"] = ["odd"]
        case "no group":
            del obj["spec"]["group"]
    return orjson.dumps(obj)


@pytest.mark.parametrize(
    "what",
    [
        "bytes that are no JSON",
        "no object",
        "nothing but a name",
        "no versions",
        "a version without a schema",
        "fields that are a list",
        "a status that is a list",
        "no group",
    ],
)
async def test_a_definition_that_is_broken_does_not_keep_the_others_from_being_served(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    config = ServerConfig(data_dir=tmp_path)
    stored = await prepared(config)
    await overwrite(config, f"{_DEFINITIONS}{_GEARS}", broken(stored, what))

    async with running_server(config) as server, server.client() as client:
        found = await widgets(client).get("a")
        await define(client, definition(version(), plural="bolts", kind="Bolt"))
        listed = await definitions(client).list()

    assert found.to_dict()["spec"] == {"size": 1}
    assert [item.name for item in listed.items] == ["bolts.example.com", _GEARS, WIDGETS]
    said = caplog.text + "".join(capsys.readouterr())
    assert _GEARS in said


async def test_a_stored_schema_that_is_not_structural_is_reported_as_a_condition(
    tmp_path: Path,
) -> None:
    config = ServerConfig(data_dir=tmp_path)
    obj = orjson.loads(await prepared(config))
    obj["spec"]["preserveUnknownFields"] = True
    schema = obj["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["size"] = {}
    await overwrite(config, f"{_DEFINITIONS}{_GEARS}", orjson.dumps(obj))

    async with running_server(config) as server, server.client() as client:

        async def is_reported() -> bool:
            return "NonStructuralSchema" in await conditions(client, _GEARS)

        await until(is_reported)
        condition = (await conditions(client, _GEARS))["NonStructuralSchema"]

    assert condition == (
        "True",
        "Violations",
        "[spec.preserveUnknownFields: Invalid value: true: must be false, "
        "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[size].type: "
        "Required value: must not be empty for specified object fields]",
    )


async def test_an_object_that_cannot_be_read_leaves_the_others_alone(tmp_path: Path) -> None:
    config = ServerConfig(data_dir=tmp_path)
    await prepared(config)
    await overwrite(config, "/registry/example.com/gears/default/b", b'{"metadata":{"name":"b"')

    async with running_server(config) as server, server.client() as client:
        gears = client.resource(api_version="example.com/v1", kind="Gear")("default")
        await gears.create({**widget("c", spec={"size": 3}), "kind": "Gear"})
        found = await widgets(client).get("a")
        listed = await gears.list()

    assert found.to_dict()["spec"] == {"size": 1}
    assert [item.name for item in listed.items] == ["b", "c"]


async def test_objects_stored_before_versions_were_noted_are_read(tmp_path: Path) -> None:
    config = ServerConfig(data_dir=tmp_path)
    await prepared(config)
    plain = b'{"metadata":{"name":"b","namespace":"default","uid":"1"},"spec":{"size":7}}'
    await overwrite(config, "/registry/example.com/gears/default/b", plain)

    async with running_server(config) as server, server.client() as client:
        gears = client.resource(api_version="example.com/v1", kind="Gear")("default")
        found = (await gears.get("b")).to_dict()
        changed = (await gears.patch("b", {"spec": {"size": 8}})).to_dict()

    assert found["apiVersion"] == "example.com/v1"
    assert found["spec"] == {"size": 7}
    assert changed["spec"] == {"size": 8}
    assert "storedVersion" not in changed["metadata"]


async def test_defaults_and_pruning_reach_what_was_stored_under_another_schema(
    tmp_path: Path,
) -> None:
    config = ServerConfig(data_dir=tmp_path)
    obj = orjson.loads(await prepared(config))
    schema = obj["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    color = {**TEXT, "default": "red"}
    schema["properties"]["spec"]["properties"] = {"color": color}
    await overwrite(config, f"{_DEFINITIONS}{_GEARS}", orjson.dumps(obj))

    async with running_server(config) as server, server.client() as client:
        gears = client.resource(api_version="example.com/v1", kind="Gear")("default")
        found = (await gears.get("b")).to_dict()

    assert found["spec"] == {"color": "red"}
