"""A definition is served, changed and taken away while the server runs."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from proreus.client import Client, Forbidden, Invalid, KubeObject, NotFound
from proreus.client.informer import SharedInformerFactory
from proreus.testing.server import RunningServer, running_server
from tests.custom.asking import PATIENCE_S, define, definitions, redefine, until, widgets
from tests.custom.definitions import INTEGER, TEXT, definition, version, widget

OPEN = {"x-kubernetes-preserve-unknown-fields": True}


async def test_who_sees_established_finds_the_kind(client: Client) -> None:
    await define(client, definition(version(spec={"size": {**INTEGER, "default": 3}})))

    made = await widgets(client).create(widget("a", spec={"unknown": 1}))

    assert made.to_dict()["spec"] == {"size": 3}
    assert made.to_dict()["metadata"]["generation"] == 1


async def test_a_kind_is_watched_like_any_other(client: Client) -> None:
    await define(client, definition(version(spec={"size": INTEGER})))
    seen: list[str] = []

    async with asyncio.timeout(PATIENCE_S), widgets(client).watch() as events:
        await widgets(client).create(widget("a"))
        await widgets(client).patch("a", {"spec": {"size": 1}})
        await widgets(client).delete("a")
        async for event in events:
            seen += [event.type] if event.type != "BOOKMARK" else []
            if event.type == "DELETED":
                break

    assert seen == ["ADDED", "MODIFIED", "DELETED"]


async def test_a_changed_definition_ends_watches_without_an_error(
    server: RunningServer, client: Client
) -> None:
    await define(client, definition(version(spec={"size": INTEGER})))
    await widgets(client).create(widget("a"))
    path = "/apis/example.com/v1/widgets?watch=1&resourceVersion=0"
    reading = asyncio.create_task(client.get_raw(path))
    await asyncio.sleep(0)

    async with asyncio.timeout(PATIENCE_S):
        number = 0
        while not reading.done():
            number += 1
            field = {f"more{number}": TEXT, "size": INTEGER}
            await redefine(client, definition(version(spec=field)))
            await asyncio.wait((reading,), timeout=0.2)
        events = [orjson.loads(line) for line in (await reading).splitlines()]

    assert [event["type"] for event in events] == ["ADDED"]


async def test_a_new_default_shows_on_objects_that_are_there(client: Client) -> None:
    await define(client, definition(version(spec={"size": INTEGER})))
    await widgets(client).create(widget("a", spec={}))
    await redefine(client, definition(version(spec={"size": INTEGER, "color": {
        **TEXT, "default": "red"}})))  # fmt: skip

    async with asyncio.timeout(PATIENCE_S):
        while "color" not in (await widgets(client).get("a")).to_dict()["spec"]:
            continue  # the definition was stored; it takes effect a moment later
        listed = await widgets(client).list()

    assert listed.items[0].to_dict()["spec"] == {"color": "red"}


async def test_versions_show_the_same_object_each_in_its_way(client: Client) -> None:
    await define(
        client,
        definition(
            version(spec={"size": INTEGER, "color": TEXT}),
            version("v2", storage=False, spec={"size": INTEGER}),
        ),
    )
    await widgets(client).create(widget("a", spec={"size": 1, "color": "red"}))

    found = (await widgets(client, "v2").get("a")).to_dict()

    assert found["apiVersion"] == "example.com/v2"
    assert found["spec"] == {"size": 1}


async def test_objects_are_selected_by_the_fields_the_definition_names(client: Client) -> None:
    selectable = [{"jsonPath": ".spec.color"}]
    await define(client, definition(version(spec={"color": TEXT}, selectableFields=selectable)))
    for name, color in (("a", "red"), ("b", "blue")):
        await widgets(client).create(widget(name, spec={"color": color}))

    found = await widgets(client).list(field_selector="spec.color=blue")

    assert [item.name for item in found.items] == ["b"]


async def test_status_is_written_through_its_own_endpoint(client: Client) -> None:
    parts: dict[str, Any] = {"status": {}}
    await define(
        client,
        definition(version(spec={"size": INTEGER}, status={"phase": TEXT}, subresources=parts)),
    )
    made = await widgets(client).create(widget("a", status={"phase": "Up"}))
    assert "status" not in made.to_dict()

    changed = await widgets(client).patch_status("a", {"status": {"phase": "Up"}})

    assert changed.to_dict()["status"] == {"phase": "Up"}
    assert changed.to_dict()["metadata"]["generation"] == 1


async def test_scale_reads_and_writes_where_the_definition_says(client: Client) -> None:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    await define(client, definition(version(spec={"size": INTEGER}, subresources={"scale": scale})))
    await widgets(client).create(widget("a", spec={"size": 1}))

    await widgets(client).set_scale("a", 5)

    assert (await widgets(client).get("a")).to_dict()["spec"] == {"size": 5}


async def test_an_invalid_object_is_refused_with_every_cause(client: Client) -> None:
    spec = {"size": {**INTEGER, "minimum": 1}, "color": {**TEXT, "enum": ["red"]}}
    await define(client, definition(version(spec=spec)))

    with pytest.raises(Invalid) as refused:
        await widgets(client).create(widget("a", spec={"size": 0, "color": "blue"}))

    fields = [cause["field"] for cause in refused.value.details["causes"]]
    assert fields == ["spec.color", "spec.size"]


async def test_deleting_a_definition_takes_its_instances_along(client: Client) -> None:
    await define(client, definition(version(spec={"size": INTEGER})))
    held = widget("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await widgets(client).create(held)
    await widgets(client).create(widget("a"))

    await definitions(client).delete("widgets.example.com")

    def is_marked(obj: KubeObject | None) -> bool:
        return obj is None or "deletionTimestamp" in obj.to_dict()["metadata"]

    await widgets(client).wait_for("held", is_marked, timeout_s=PATIENCE_S)
    with pytest.raises(Forbidden, match="definition is terminating"):
        await widgets(client).create(widget("late"))
    await widgets(client).patch("held", {"metadata": {"finalizers": None}})
    await definitions(client).wait_deleted("widgets.example.com", timeout_s=PATIENCE_S)
    with pytest.raises(NotFound):
        await client.get_raw("/apis/example.com/v1/widgets")


async def test_a_server_serves_after_a_restart_what_was_defined_before(tmp_path: Any) -> None:
    from proreus.server.config import ServerConfig

    config = ServerConfig(data_dir=tmp_path, tls=False, port=0)
    async with running_server(config) as first, first.client() as client:
        await define(client, definition(version(spec={"size": INTEGER})))
        await widgets(client).create(widget("a", spec={"size": 1}))

    async with running_server(config) as second, second.client() as client:
        found = await widgets(client).get("a")

    assert found.to_dict()["spec"] == {"size": 1}


async def test_openapi_reports_the_type_and_metadata_of_what_is_embedded(client: Client) -> None:
    free = {"x-kubernetes-preserve-unknown-fields": True}
    inside = {"type": "object", "x-kubernetes-embedded-resource": True, **free}
    await define(client, definition(version(spec={"parts": {"type": "array", "items": inside}})))

    document = orjson.loads(await client.get_raw("/openapi/v3/apis/example.com/v1"))

    spec = document["components"]["schemas"]["com.example.v1.Widget"]["properties"]["spec"]
    part = spec["properties"]["parts"]["items"]
    assert set(part["properties"]) == {"apiVersion", "kind", "metadata"}
    assert part["required"] == ["kind", "apiVersion"]


async def test_openapi_reports_the_schema_and_forgets_it(client: Client) -> None:
    await define(client, definition(version(spec={"size": INTEGER})))

    document = orjson.loads(await client.get_raw("/openapi/v3/apis/example.com/v1"))
    whole = orjson.loads(await client.get_raw("/openapi/v2"))

    schema = document["components"]["schemas"]["com.example.v1.Widget"]
    assert schema["properties"]["spec"]["properties"] == {"size": INTEGER}
    assert "com.example.v1.Widget" in whole["definitions"]
    await definitions(client).delete("widgets.example.com")
    await definitions(client).wait_deleted("widgets.example.com", timeout_s=PATIENCE_S)
    index = orjson.loads(await client.get_raw("/openapi/v3"))
    assert "apis/example.com/v1" not in index["paths"]


async def test_openapi_v2_says_only_that_it_is_an_object_of_what_keeps_unknown_fields(
    client: Client,
) -> None:
    spec = {"type": "object", "properties": {"size": INTEGER}}
    schema = {"type": "object", "description": "d", "properties": {"spec": spec}, **OPEN}
    await define(client, definition(version(schema={"openAPIV3Schema": schema})))

    whole = orjson.loads(await client.get_raw("/openapi/v2"))
    document = orjson.loads(await client.get_raw("/openapi/v3/apis/example.com/v1"))

    name = "com.example.v1.Widget"
    gvk = [{"group": "example.com", "kind": "Widget", "version": "v1"}]
    assert whole["definitions"][name] == {
        "type": "object", "x-kubernetes-group-version-kind": gvk,
    }  # fmt: skip
    assert document["components"]["schemas"][name]["properties"]["spec"] == spec


@pytest.mark.parametrize(
    ("field", "published"),
    [
        ({"type": "object", "properties": {"a": INTEGER}, **OPEN}, OPEN),
        ({"type": "array", "items": INTEGER, **OPEN}, OPEN),
        ({"type": "string", "nullable": True, "maxLength": 3}, {"maxLength": 3}),
        ({"type": "array", "items": TEXT, "nullable": True}, {}),
        ({"type": "integer", "not": {"enum": [1]}, "allOf": [{"minimum": 2}]}, INTEGER),
        (
            {
                "type": "object",
                "required": ["a", "b"],
                "properties": {"a": {**TEXT, "nullable": True}, "b": TEXT},
            },
            {"type": "object", "required": ["b"], "properties": {"a": {}, "b": TEXT}},
        ),
        ({"type": "array", "items": TEXT}, {"type": "array", "items": TEXT}),
    ],
)
async def test_openapi_v2_leaves_out_what_its_clients_do_not_know(
    client: Client, field: dict[str, Any], published: dict[str, Any]
) -> None:
    await define(client, definition(version(spec={"field": field})))

    whole = orjson.loads(await client.get_raw("/openapi/v2"))

    spec = whole["definitions"]["com.example.v1.Widget"]["properties"]["spec"]
    assert spec["properties"]["field"] == published


async def test_an_informer_goes_on_over_a_change_of_the_definition(client: Client) -> None:
    await define(client, definition(version(spec={"size": INTEGER})))
    seen: asyncio.Queue[str] = asyncio.Queue()  # as many as the test makes

    async with SharedInformerFactory(client) as informers, asyncio.timeout(PATIENCE_S):
        informer = informers.informer("widgets.v1.example.com")
        informer.add_handler(on_add=lambda obj: seen.put_nowait(obj.name))
        informers.start()
        await widgets(client).create(widget("a"))
        assert await seen.get() == "a"

        await redefine(client, definition(version(spec={"size": INTEGER, "color": TEXT})))
        await widgets(client).create(widget("b"))

        assert await seen.get() == "b"


async def test_a_list_in_pieces_shows_old_objects_as_the_definition_now_says(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proreus.server.http.handlers.answers._MANY", 3)
    await define(client, definition(version(spec={"size": INTEGER})))
    for number in range(70):
        await widgets(client).create(widget(f"a{number:02}", spec={}))
    await redefine(client, definition(version(spec={"size": {**INTEGER, "default": 3}})))

    async def is_redefined() -> bool:
        return bool((await widgets(client).get("a00")).to_dict()["spec"])

    await until(is_redefined)
    found = (await widgets(client).list()).items

    assert [item.name for item in found] == [f"a{number:02}" for number in range(70)]
    assert {item.kind for item in found} == {"Widget"}
    assert {item.to_dict()["spec"]["size"] for item in found} == {3}
