"""A built-in kind is one module: nothing else names it, and it is served with all it declares."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
import pytest_asyncio

from proreus.server import kinds
from proreus.server.schema.definitions import Definitions
from proreus.testing.server import running_server

GADGET = '''
"""Gadget: something with a size."""

from proreus.server.kinds.parts.cells import age, name_of
from proreus.server.kinds.parts.findings import Findings
from proreus.server.resource import (
    Generation, Lifecycle, Names, Printer, Resource, Rules, at_paths,
)

_TEXT, _COUNT = {"type": "string"}, {"type": "integer", "format": "int32"}
_META = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1."


def _default(obj):
    obj.setdefault("spec", {}).setdefault("size", 1)


def _validate(obj):
    found = Findings()
    found.not_negative("spec.size", obj["spec"]["size"])
    return found


def _validate_update(new, old):
    found = Findings(_validate(new))
    found.immutable("spec.color", new["spec"].get("color"), old["spec"].get("color"))
    return found


def _warnings(obj):
    return ["spec.size: larger than most"] if obj["spec"]["size"] > 100 else []


_DEFINITION = {
    "type": "object",
    "properties": {
        "apiVersion": _TEXT,
        "kind": _TEXT,
        "metadata": {"allOf": [{"$ref": _META + "ObjectMeta"}], "default": {}},
        "spec": {"type": "object", "properties": {"size": _COUNT, "color": _TEXT}},
        "status": {"type": "object", "properties": {"fits": {"type": "boolean"}}},
    },
    "x-kubernetes-group-version-kind": [
        {"group": "example.dev", "version": "v1", "kind": "Gadget"}
    ],
}

RESOURCES = (
    Resource(
        names=Names.of("example.dev", "v1", "Gadget", "gadgets", "gdg"),
        namespaced=True,
        has_status=True,
        lifecycle=Lifecycle(generation=Generation()),
        selectable=at_paths("spec.color"),
        rules=Rules(
            default=_default,
            validate=_validate,
            validate_update=_validate_update,
            warnings=_warnings,
        ),
        printer=Printer.of(
            lambda obj, now: [name_of(obj), obj["spec"]["size"], age(obj, now)],
            "Name", "Size:integer", "Age",
        ),
        definitions={"dev.example.v1.Gadget": _DEFINITION},
    ),
)
'''
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
GADGETS = "apis/example.dev/v1/namespaces/default/gadgets"


@pytest.fixture
def added_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The module in its place, and forgotten afterwards."""
    folder = tmp_path / "kinds" / "example"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text('"""Kinds of example.dev."""\n')
    (folder / "gadget.py").write_text(GADGET)
    monkeypatch.setattr(kinds, "__path__", [*kinds.__path__, str(tmp_path / "kinds")])
    monkeypatch.setattr(Definitions, "load", staticmethod(cache(Definitions.load.__wrapped__)))
    yield
    for name in [name for name in sys.modules if name.startswith(f"{kinds.__name__}.example")]:
        del sys.modules[name]


@pytest_asyncio.fixture
async def http(added_kind: None) -> AsyncIterator[aiohttp.ClientSession]:
    async with running_server() as server:
        headers = {"Authorization": f"Bearer {server.token}"}
        async with aiohttp.ClientSession(f"{server.url}/", headers=headers) as session:
            yield session


def gadget(name: str, **spec: object) -> dict[str, Any]:
    metadata = {"name": name}
    return {"apiVersion": "example.dev/v1", "kind": "Gadget", "metadata": metadata, "spec": spec}


async def test_an_added_kind_is_defaulted_and_validated(http: aiohttp.ClientSession) -> None:
    made = await (await http.post(GADGETS, json=gadget("a", color="red"))).json()
    refused = await http.post(GADGETS, json=gadget("b", size=-1))
    unknown = await http.post(f"{GADGETS}?fieldValidation=Strict", json=gadget("b", colour="red"))
    large = await http.post(GADGETS, json=gadget("c", size=101))
    made["spec"]["color"] = "blue"
    repainted = await http.put(f"{GADGETS}/a", json=made)

    assert (made["spec"]["size"], made["metadata"]["generation"]) == (1, 1)
    assert refused.status == 422
    assert "spec.size: Invalid value: -1" in (await refused.json())["message"]
    assert unknown.status == 400
    assert 'unknown field "spec.colour"' in (await unknown.json())["message"]
    assert large.headers["Warning"] == '299 - "spec.size: larger than most"'
    assert repainted.status == 422
    assert "field is immutable" in (await repainted.json())["message"]


async def test_an_added_kind_has_columns_and_discovery(http: aiohttp.ClientSession) -> None:
    await http.post(GADGETS, json=gadget("a", size=3))

    table = await (await http.get(GADGETS, headers={"Accept": TABLE})).json()
    served = await (await http.get("apis/example.dev/v1")).json()
    document = await (await http.get("openapi/v3/apis/example.dev/v1")).json()

    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size", "Age"]
    assert [row["cells"][:2] for row in table["rows"]] == [["a", 3]]
    names = {one["name"]: one.get("shortNames") for one in served["resources"]}
    assert names == {"gadgets": ["gdg"], "gadgets/status": None}
    schema = document["components"]["schemas"]["dev.example.v1.Gadget"]
    assert set(schema["properties"]) == {"apiVersion", "kind", "metadata", "spec", "status"}


async def test_an_added_kind_is_watched_by_its_fields(http: aiohttp.ClientSession) -> None:
    query = {"watch": "1", "fieldSelector": "spec.color=red"}

    async with http.get(GADGETS, params=query) as events:
        await http.post(GADGETS, json=gadget("a", color="blue"))
        await http.post(GADGETS, json=gadget("b", color="red"))
        merge = {"Content-Type": "application/merge-patch+json"}
        status = b'{"status":{"fits":true}}'
        await http.patch(f"{GADGETS}/b/status", data=status, headers=merge)
        await http.delete(f"{GADGETS}/b")
        seen = [orjson.loads(await events.content.readline()) for _ in range(3)]

    assert [(event["type"], event["object"]["metadata"]["name"]) for event in seen] == [
        ("ADDED", "b"),
        ("MODIFIED", "b"),
        ("DELETED", "b"),
    ]
    assert seen[1]["object"]["status"] == {"fits": True}
