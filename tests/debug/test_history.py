"""Time travel: lists at a revision and an object's versions, from what the store still has."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from proreus.client.service_account_tokens import request_token
from proreus.server import parts
from proreus.server.config import ServerConfig
from proreus.testing.granting import Grant
from tests.custom.definitions import definition, version
from tests.debug.asking import Asking, asking
from tests.real_etcd import running_etcd

MAPS = "/api/v1/namespaces/default/configmaps"
NOTES = "/apis/example.com/v1/namespaces/default/notes"
TEXTS = {"openAPIV3Schema": {"type": "object", "properties": {"text": {"type": "string"}}}}
DEFINITION = definition(version(schema=TEXTS), plural="notes", kind="Note")
OBJECT = "/debug/history/object?namespace=default&name=one"


@asynccontextmanager
async def _config(store: str, folder: Path) -> AsyncIterator[ServerConfig]:
    if store == "etcd":
        async with running_etcd() as etcd:
            yield ServerConfig(etcd=tuple(etcd.endpoints))
    else:
        yield ServerConfig(data_dir=folder if store == "sqlite" else None)


States = dict[int, dict[str, str]]


async def _written(debug: Asking) -> States:
    """Config maps and notes, changed alike, and what there was after every two writes."""
    definitions = debug.client.apiextensions_v1.customresourcedefinitions
    await definitions.create(DEFINITION)
    await definitions.wait_for("notes.example.com", "condition=Established")
    maps = debug.client.core_v1.configmaps("default")
    notes = debug.client.resource(api_version="example.com/v1", kind="Note")("default")
    states: States = {}
    now: dict[str, str] = {}
    for step in range(4):
        for name in ("one", "two"):
            text = f"{name}-{step}"
            if name in now:
                await maps.patch(name, {"data": {"text": text}})
                written = await notes.patch(name, {"text": text})
            else:
                await maps.create({"metadata": {"name": name}, "data": {"text": text}})
                written = await notes.create(
                    {"apiVersion": "example.com/v1", "kind": "Note", "metadata": {"name": name},
                     "text": text}
                )  # fmt: skip
            now[name] = text
            states[int(written.resource_version)] = dict(now)
    await maps.delete("two")
    await notes.delete("two")
    del now["two"]
    revision = (await debug.get("/debug/history"))["revision"]
    return {**states, revision: now}


async def _assert_past(debug: Asking, states: States) -> None:
    for revision, then in states.items():
        at = f"resourceVersion={revision}&resourceVersionMatch=Exact"
        maps = await debug.get(f"{MAPS}?{at}&fieldSelector=metadata.name!=kube-root-ca.crt")
        assert {m["metadata"]["name"]: m["data"]["text"] for m in maps["items"]} == then
        notes = await debug.get(f"{NOTES}?{at}")
        found = {n["metadata"]["name"]: n["text"] for n in notes["items"]}
        assert found == then
        assert maps["metadata"]["resourceVersion"] == str(revision)


@pytest.mark.parametrize("store", ["memory", "sqlite", "etcd"])
async def test_everything_that_was_not_compacted_can_be_listed_as_it_was(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with _config(store, tmp_path) as config:
        async with asking(config) as debug:
            states = await _written(debug)
            await _assert_past(debug, states)
        if store != "memory":
            # Started again, and without the recent past in its caches: the store alone knows.
            monkeypatch.setattr(parts, "_REMEMBERED", 0)
            async with asking(config) as debug:
                await _assert_past(debug, states)
                versions = await debug.get(f"{OBJECT}&group=example.com&resource=notes")
                texts = [one["object"]["text"] for one in versions["versions"]]
                assert texts == [f"one-{step}" for step in range(4)]


@pytest_asyncio.fixture
async def debug() -> AsyncIterator[Asking]:
    async with asking() as opened:
        yield opened


async def test_what_was_compacted_is_gone_and_said_to_be(debug: Asking) -> None:
    revisions = sorted(await _written(debug))
    await debug.server.api.parts.storage.compact(revisions[3])

    assert (await debug.get("/debug/history"))["oldestRevision"] == revisions[3]
    exact = "resourceVersionMatch=Exact"
    await debug.get(f"{MAPS}?resourceVersion={revisions[3]}&{exact}")
    await debug.get(f"{MAPS}?resourceVersion={revisions[2]}&{exact}", 410)
    versions = (await debug.get(f"{OBJECT}&resource=configmaps"))["versions"]
    assert [one["type"] for one in versions] == ["BEFORE", "MODIFIED", "MODIFIED"]


async def test_an_object_has_its_versions_with_who_wrote_each(debug: Asking) -> None:
    maps = debug.client.core_v1.configmaps("default")
    first = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
    await maps.apply({**first, "data": {"a": "1"}}, field_manager="ann")
    await maps.apply({**first, "data": {"b": "2"}}, field_manager="bob")
    await maps.delete("one")
    again = await maps.apply({**first, "data": {"c": "3"}}, field_manager="ann")

    versions = (await debug.get(f"{OBJECT}&group=&version=v1&resource=configmaps"))["versions"]

    assert [one["type"] for one in versions] == ["ADDED", "MODIFIED", "DELETED", "ADDED"]
    assert [one["manager"] for one in versions] == ["ann", "bob", None, "ann"]
    assert [(one["object"] or {}).get("data") for one in versions] == [
        {"a": "1"}, {"a": "1", "b": "2"}, None, {"c": "3"},
    ]  # fmt: skip
    assert all(one["time"] for one in versions)
    assert str(versions[-1]["revision"]) == again.resource_version
    assert versions[0]["object"]["kind"] == "ConfigMap"


async def test_a_history_is_only_for_those_who_may_read_the_object(debug: Asking) -> None:
    await debug.client.core_v1.secrets("default").create({"metadata": {"name": "one"}})
    accounts = debug.client.core_v1.serviceaccounts("default")
    await accounts.create({"metadata": {"name": "visitor"}})
    token = (await request_token(accounts, "visitor", {}))["status"]["token"]
    user = "system:serviceaccount:default:visitor"
    await debug.server.grant(user, Grant({"/debug/*": ["get"]}))

    await debug.get(f"{OBJECT}&resource=secrets", 403, token)
    await debug.server.grant(user, Grant({"secrets": ["get"]}, namespace="default"))

    assert len((await debug.get(f"{OBJECT}&resource=secrets", 200, token))["versions"]) == 1


async def test_what_never_was_has_no_history(debug: Asking) -> None:
    await debug.get(f"{OBJECT}&resource=configmaps", 404)
    await debug.get("/debug/history/object?resource=configmaps&namespace=default", 400)
    await debug.get("/debug/history/object?resource=configmaps&name=one", 400)
    await debug.get("/debug/history/object?resource=nothing&name=one", 400)
