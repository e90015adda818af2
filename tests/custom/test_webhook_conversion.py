"""Versions that a webhook converts: stored as written, rendered as asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from proreus.client import ApiError, Client, Invalid
from proreus.client.informer import SharedInformerFactory
from proreus.testing.server import running_server
from proreus.testing.virtual_clock import VirtualClock
from tests.custom.asking import PATIENCE_S, define, definitions, widgets
from tests.custom.conversion_server import ConversionServer, answer, conversion_server
from tests.custom.definitions import INTEGER, TEXT, definition, version, widget
from tests.ports import reserved_port

_V2 = "example.com/v2"
SIZED = {"size": {**INTEGER, "minimum": 1}, "color": TEXT}
MEASURED = {"dimensions": {"type": "object", "properties": {"size": INTEGER}}, "color": TEXT}


@pytest.fixture
def hook() -> Iterator[ConversionServer]:
    with conversion_server() as started:
        yield started


def both(conversion: dict[str, Any], *, storage: str = "v1", **more: Any) -> dict[str, Any]:
    body = definition(
        version("v1", storage=storage == "v1", spec=SIZED, **more),
        version("v2", storage=storage == "v2", spec=MEASURED, **more),
    )
    body["spec"]["conversion"] = conversion
    return body


async def store_in(client: Client, storage: str) -> None:
    """Change the storage version, and wait until writes go there: discovery tells."""
    before = await client.get_raw("/apis/example.com/v1")
    found = (await definitions(client).get("widgets.example.com")).to_dict()
    for one in found["spec"]["versions"]:
        one["storage"] = one["name"] == storage
    await definitions(client).patch("widgets.example.com", {"spec": found["spec"]})
    async with asyncio.timeout(PATIENCE_S):
        while await client.get_raw("/apis/example.com/v1") == before:
            continue


async def test_objects_are_read_written_and_listed_in_any_version(
    client: Client, hook: ConversionServer
) -> None:
    await define(client, both(hook.conversion()))
    await widgets(client, "v1").create(widget("a", spec={"size": 1, "color": "red"}))
    assert hook.calls == []

    made = await widgets(client, "v2").create(
        widget("b", api_version=_V2, spec={"dimensions": {"size": 2}})
    )
    listed = await widgets(client, "v2").list()
    stored = await widgets(client, "v1").get("b")

    assert made.to_dict()["spec"] == {"dimensions": {"size": 2}}
    assert stored.to_dict()["spec"] == {"size": 2}
    assert [item.to_dict()["spec"] for item in listed.items] == [
        {"color": "red", "dimensions": {"size": 1}},
        {"dimensions": {"size": 2}},
    ]
    assert {item.api_version for item in listed.items} == {_V2}


async def test_one_call_converts_a_whole_list_and_the_next_list_needs_none(
    client: Client, hook: ConversionServer
) -> None:
    await define(client, both(hook.conversion()))
    for number in range(5):
        await widgets(client, "v1").create(widget(f"w{number}", spec={"size": number + 1}))

    first = await widgets(client, "v2").list()
    again = await widgets(client, "v2").list()

    assert hook.converted == [(_V2, 5)]
    assert first.items == again.items


async def test_updates_and_patches_work_in_the_version_of_the_request(
    client: Client, hook: ConversionServer
) -> None:
    await define(client, both(hook.conversion()))
    await widgets(client, "v1").create(widget("a", spec={"size": 1}))
    second = widgets(client, "v2")

    patched = await second.patch("a", {"spec": {"dimensions": {"size": 2}}})
    operation = [{"op": "replace", "path": "/spec/dimensions/size", "value": 3}]
    await second.patch("a", operation, type="json")
    live = (await second.get("a")).to_dict()
    live["spec"]["color"] = "blue"
    await second.replace(live)

    assert patched.to_dict()["spec"] == {"dimensions": {"size": 2}}
    found = (await widgets(client, "v1").get("a")).to_dict()
    assert found["spec"] == {"color": "blue", "size": 3}
    assert found["metadata"]["generation"] == 4


async def test_apply_takes_ownership_across_versions(
    client: Client, hook: ConversionServer
) -> None:
    await define(client, both(hook.conversion()))
    first, second = widgets(client, "v1"), widgets(client, "v2")
    await first.apply(widget("a", spec={"size": 1}), field_manager="one")

    with pytest.raises(ApiError) as refused:
        wanted = widget("a", api_version=_V2, spec={"dimensions": {"size": 2}})
        await second.apply(wanted, field_manager="two")
    done = await second.apply(wanted, field_manager="two", force=True)

    assert refused.value.code == 409
    assert done.to_dict()["spec"] == {"dimensions": {"size": 2}}
    owners = done.to_dict()["metadata"]["managedFields"]
    assert [owner["manager"] for owner in owners] == ["two"]


async def test_a_watch_shows_converted_objects_in_order(
    client: Client, hook: ConversionServer
) -> None:
    await define(client, both(hook.conversion()))
    seen: list[tuple[str, Any]] = []

    async with asyncio.timeout(PATIENCE_S), widgets(client, "v2").watch() as events:
        await widgets(client, "v1").create(widget("a", spec={"size": 1}))
        for size in range(2, 6):
            await widgets(client, "v1").patch("a", {"spec": {"size": size}})
        await widgets(client, "v1").delete("a")
        async for event in events:
            if event.type != "BOOKMARK":
                assert event.object.api_version == _V2
                seen.append((event.type, event.object["spec"]["dimensions"]["size"]))
            if event.type == "DELETED":
                break

    kinds = ["ADDED", *["MODIFIED"] * 4, "DELETED"]
    assert seen == list(zip(kinds, [1, 2, 3, 4, 5, 5], strict=True))


async def test_many_watchers_share_one_conversion_and_others_do_not_wait_for_it(
    client: Client, hook: ConversionServer
) -> None:
    await define(client, both(hook.conversion()))

    async def first(of_version: str) -> Any:
        async with widgets(client, of_version).watch(resource_version="0") as events:
            async for event in events:
                if event.type == "ADDED":
                    return event.object.to_dict()["spec"]
        return None

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as watching:
        hook.open.clear()
        slow = [watching.create_task(first("v2")) for _ in range(10)]
        quick = watching.create_task(first("v1"))
        await widgets(client, "v1").create(widget("a", spec={"size": 1}))
        assert await quick == {"size": 1}
        assert not any(task.done() for task in slow)
        hook.open.set()

    assert [task.result() for task in slow] == [{"dimensions": {"size": 1}}] * 10
    assert hook.converted == [(_V2, 1)]


async def test_objects_stay_in_the_version_they_were_written_in(
    client: Client, hook: ConversionServer
) -> None:
    await define(client, both(hook.conversion()))
    await widgets(client, "v1").create(widget("old", spec={"size": 1}))
    await store_in(client, "v2")
    await widgets(client, "v1").create(widget("new", spec={"size": 2}))
    hook.calls.clear()

    listed = await widgets(client, "v2").list()

    status = (await definitions(client).get("widgets.example.com")).to_dict()["status"]
    assert status["storedVersions"] == ["v1", "v2"]
    assert hook.converted == [(_V2, 1)]
    specs = {item.name: item.to_dict()["spec"] for item in listed.items}
    assert specs == {"new": {"dimensions": {"size": 2}}, "old": {"dimensions": {"size": 1}}}


async def test_writing_an_object_again_moves_it_to_the_storage_version(
    client: Client, hook: ConversionServer
) -> None:
    await define(client, both(hook.conversion()))
    before = await widgets(client, "v1").create(widget("a", spec={"size": 1}))
    await store_in(client, "v2")

    after = await widgets(client, "v1").replace(before.to_dict())
    hook.calls.clear()
    found = await widgets(client, "v2").get("a")

    assert int(after.resource_version) > int(before.resource_version)
    assert hook.calls == []
    assert found.to_dict()["spec"] == {"dimensions": {"size": 1}}


async def test_a_stored_version_cannot_be_taken_away(
    client: Client, hook: ConversionServer
) -> None:
    await define(client, both(hook.conversion()))
    await store_in(client, "v2")
    found = (await definitions(client).get("widgets.example.com")).to_dict()
    kept = [one for one in found["spec"]["versions"] if one["name"] == "v2"]

    with pytest.raises(ApiError) as refused:
        await definitions(client).patch("widgets.example.com", {"spec": {"versions": kept}})

    assert refused.value.message == (
        'CustomResourceDefinition.apiextensions.k8s.io "widgets.example.com" is invalid: '
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was '
        "previously a storage version, and must remain in spec.versions until a storage migration "
        "ensures no data remains persisted in v1 and removes v1 from status.storedVersions"
    )
    status = {"status": {"storedVersions": ["v2"]}}
    await definitions(client).patch_status("widgets.example.com", status)
    await definitions(client).patch("widgets.example.com", {"spec": {"versions": kept}})


async def test_a_service_is_called_by_its_name_inside_the_cluster(
    client: Client, hook: ConversionServer
) -> None:
    meta = {"name": "converter", "namespace": "default"}
    spec = {"type": "ExternalName", "externalName": "localhost"}
    await client.core_v1.services("default").create({"metadata": meta, "spec": spec})
    service = {**meta, "path": "/convert", "port": hook.port}
    await define(client, both(hook.conversion(service=service)))
    await widgets(client, "v1").create(widget("a", spec={"size": 1}))

    found = await widgets(client, "v2").get("a")

    assert found.to_dict()["spec"] == {"dimensions": {"size": 1}}


async def test_a_service_that_is_not_there_is_reported(
    client: Client, hook: ConversionServer
) -> None:
    service = {"name": "converter", "namespace": "default", "path": "/convert"}
    await define(client, both(hook.conversion(service=service)))
    await widgets(client, "v1").create(widget("a", spec={"size": 1}))

    with pytest.raises(ApiError) as refused:
        await widgets(client, "v2").get("a")

    asked = "https://converter.default.svc:443/convert?timeout=30s"
    assert refused.value.message == f'{_FOR}failed: Post "{asked}": service "converter" not found'


async def test_deleting_needs_no_webhook(client: Client, hook: ConversionServer) -> None:
    await define(client, both(hook.conversion()))
    await widgets(client, "v1").create(widget("a", spec={"size": 1}))
    hook.code = 500

    await widgets(client, "v2").delete("a")
    await definitions(client).delete("widgets.example.com")
    await definitions(client).wait_deleted("widgets.example.com", timeout_s=PATIENCE_S)

    assert hook.calls == []


async def test_a_watch_whose_object_cannot_be_converted_says_so_and_ends(
    client: Client, hook: ConversionServer
) -> None:
    await define(client, both(hook.conversion()))
    hook.code = 500

    with pytest.raises(ApiError) as refused:
        async with asyncio.timeout(PATIENCE_S), widgets(client, "v2").watch() as events:
            await widgets(client, "v1").create(widget("a", spec={"size": 1}))
            async for event in events:
                assert event.type == "BOOKMARK"

    assert refused.value.code == 500
    assert "conversion webhook for example.com/v1, Kind=Widget failed" in refused.value.message


def other_uid(review: dict[str, Any]) -> dict[str, Any]:
    said = answer(review)
    said["response"]["uid"] = "other"
    return said


def refusing(review: dict[str, Any]) -> dict[str, Any]:
    said = answer(review)
    said["response"] |= {"result": {"status": "Failed", "message": "no such thing"}}
    return said


def too_few(review: dict[str, Any]) -> dict[str, Any]:
    said = answer(review)
    said["response"]["convertedObjects"] = []
    return said


def unchanged(review: dict[str, Any]) -> dict[str, Any]:
    said = answer(review)
    said["response"]["convertedObjects"] = review["request"]["objects"]
    return said


def renamed(review: dict[str, Any]) -> dict[str, Any]:
    said = answer(review)
    said["response"]["convertedObjects"][0]["metadata"]["name"] = "b"
    return said


_FOR = "conversion webhook for example.com/v1, Kind=Widget "
WRONG: dict[str, tuple[Any, str]] = {
    "refused": (refusing, f"{_FOR}failed: no such thing"),
    "too few": (too_few, f"{_FOR}returned 0 objects, expected 1"),
    "another version": (
        unchanged,
        f"{_FOR}returned invalid object at index 0: invalid groupVersion "
        "(expected example.com/v2, received example.com/v1)",
    ),
    "another name": (renamed, f"{_FOR}returned invalid object: must have the same name: a != b"),
    "no review": (
        lambda _: {},
        f"{_FOR}failed: expected webhook response of apiextensions.k8s.io/v1, "
        "Kind=ConversionReview, got /, Kind=",
    ),
}


@pytest.mark.parametrize("what", WRONG)
async def test_a_bad_answer_is_reported_as_kubernetes_does(
    client: Client, hook: ConversionServer, what: str
) -> None:
    await define(client, both(hook.conversion()))
    await widgets(client, "v1").create(widget("a", spec={"size": 1}))
    hook.answer, message = WRONG[what]

    with pytest.raises(ApiError) as refused:
        await widgets(client, "v2").get("a")

    assert (refused.value.code, refused.value.message) == (500, message)
    hook.answer = answer
    assert (await widgets(client, "v2").get("a")).name == "a"


async def test_another_uid_is_not_the_answer(client: Client, hook: ConversionServer) -> None:
    await define(client, both(hook.conversion()))
    await widgets(client, "v1").create(widget("a", spec={"size": 1}))
    hook.answer = other_uid

    with pytest.raises(ApiError) as refused:
        await widgets(client, "v2").get("a")

    asked = hook.calls[0]["request"]["uid"]
    assert refused.value.message == f'{_FOR}failed: expected response.uid="{asked}", got "other"'


async def test_only_labels_and_annotations_change_of_metadata(
    client: Client, hook: ConversionServer
) -> None:
    def meddling(review: dict[str, Any]) -> dict[str, Any]:
        said = answer(review)
        said["response"]["convertedObjects"][0]["metadata"] |= {
            "labels": {"from": "webhook"},
            "finalizers": ["example.com/held"],
            "generation": 99,
        }
        return said

    await define(client, both(hook.conversion()))
    await widgets(client, "v1").create(widget("a", spec={"size": 1}))
    hook.answer = meddling

    meta = (await widgets(client, "v2").get("a")).to_dict()["metadata"]

    assert meta["labels"] == {"from": "webhook"}
    assert meta["generation"] == 1
    assert "finalizers" not in meta


async def test_an_unknown_authority_and_a_dead_port_are_reported(
    client: Client, hook: ConversionServer
) -> None:
    with reserved_port() as port:
        with conversion_server(port) as other:
            stranger = hook.conversion(url=other.url, caBundle=hook.ca_bundle)
            await define(client, both(stranger))
            await widgets(client, "v1").create(widget("a", spec={"size": 1}))
            with pytest.raises(ApiError) as unknown:
                await widgets(client, "v2").get("a")
        with pytest.raises(ApiError) as dead:
            await widgets(client, "v2").get("a")

    begin = f'{_FOR}failed: Post "{other.url}?timeout=30s": '
    assert unknown.value.message == (
        f"{begin}tls: failed to verify certificate: x509: certificate signed by unknown authority"
    )
    assert dead.value.message == (
        f"{begin}dial tcp 127.0.0.1:{other.port}: connect: connection refused"
    )


async def test_a_webhook_that_says_nothing_is_given_half_a_minute(hook: ConversionServer) -> None:
    clock = VirtualClock()
    async with running_server(clock=clock) as server, server.client() as client:
        await define(client, both(hook.conversion()))
        await widgets(client, "v1").create(widget("a", spec={"size": 1}))
        hook.open.clear()

        async with asyncio.timeout(PATIENCE_S):
            asking = asyncio.create_task(widgets(client, "v2").get("a"))
            while not hook.calls:
                await asyncio.wait((asking,), timeout=0.01)
            await clock.advance(29)
            assert not asking.done()
            await clock.advance(2)
            with pytest.raises(ApiError) as refused:
                await asking

    asked = f'Post "{hook.url}?timeout=30s"'
    assert refused.value.message == f"{_FOR}failed: {asked}: context deadline exceeded"


async def test_status_and_scale_work_in_the_version_of_the_request(
    client: Client, hook: ConversionServer
) -> None:
    body = both(hook.conversion())
    for one, path in zip(body["spec"]["versions"], (".size", ".dimensions.size"), strict=True):
        fields = one["schema"]["openAPIV3Schema"]["properties"]
        fields["status"] = {"type": "object", "properties": {"phase": TEXT}}
        scale = {"specReplicasPath": f".spec{path}", "statusReplicasPath": ".status.n"}
        one["subresources"] = {"status": {}, "scale": scale}
    await define(client, body)
    second = widgets(client, "v2")
    await second.create(widget("a", api_version=_V2, spec={"dimensions": {"size": 2}}))

    patched = await second.patch_status("a", {"status": {"phase": "Up"}})
    await second.set_scale("a", 5)

    found = (await widgets(client, "v1").get("a")).to_dict()
    assert patched.to_dict()["spec"] == {"dimensions": {"size": 2}}
    assert found["status"] == {"phase": "Up"}
    assert found["spec"] == {"size": 5}


async def test_a_value_is_validated_by_the_schema_of_the_request(
    client: Client, hook: ConversionServer
) -> None:
    await define(client, both(hook.conversion()))

    with pytest.raises(Invalid) as refused:
        await widgets(client, "v1").create(widget("a", spec={"size": 0}))
    wrong = widget("a", api_version=_V2, spec={"dimensions": {"size": "large"}})
    with pytest.raises(Invalid) as other:
        await widgets(client, "v2").create(wrong)

    assert [cause["field"] for cause in refused.value.details["causes"]] == ["spec.size"]
    assert [cause["field"] for cause in other.value.details["causes"]] == ["spec.dimensions.size"]
    assert hook.calls == []


async def test_an_informer_of_another_version_keeps_up(
    client: Client, hook: ConversionServer
) -> None:
    await define(client, both(hook.conversion()))
    await widgets(client, "v1").create(widget("w0", spec={"size": 1}))
    seen: dict[str, int] = {}
    complete = asyncio.Event()

    def note(obj: Any) -> None:
        seen[obj.name] = obj["spec"]["dimensions"]["size"]
        if seen == {f"w{n}": 9 for n in range(5)}:
            complete.set()

    async with SharedInformerFactory(client) as informers, asyncio.timeout(PATIENCE_S):
        informer = informers.informer("widgets.v2.example.com")
        informer.add_handler(on_add=note, on_update=lambda old, new: note(new))
        informers.start()
        for number in range(1, 5):
            await widgets(client, "v1").create(widget(f"w{number}", spec={"size": 1}))
        for number in range(5):
            await widgets(client, "v1").patch(f"w{number}", {"spec": {"size": 9}})
        await complete.wait()

    assert len(seen) == 5


async def test_an_informer_comes_to_everything_once_the_webhook_works_again(
    client: Client, hook: ConversionServer
) -> None:
    await define(client, both(hook.conversion()))
    complete = asyncio.Event()
    seen: set[str] = set()

    def note(obj: Any) -> None:
        seen.add(obj.name)
        if len(seen) == 4:
            complete.set()

    async with SharedInformerFactory(client) as informers, asyncio.timeout(3 * PATIENCE_S):
        informer = informers.informer("widgets.v2.example.com")
        informer.add_handler(on_add=note)
        informers.start()
        await widgets(client, "v1").create(widget("a", spec={"size": 1}))
        hook.code = 500
        before = len(hook.calls)
        await widgets(client, "v1").create(widget("b", spec={"size": 1}))
        while len(hook.calls) == before:
            await widgets(client, "v1").list()
        await widgets(client, "v1").create(widget("c", spec={"size": 1}))
        hook.code = 200
        await widgets(client, "v1").create(widget("d", spec={"size": 1}))
        await complete.wait()

    assert seen == {"a", "b", "c", "d"}
