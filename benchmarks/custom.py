"""Custom resources: how long definitions take, and what their objects cost beside built-in ones."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.report import Row
from proreus.client import Client
from proreus.server.config import ServerConfig
from proreus.server.custom.default import default
from proreus.server.custom.definition import DEFINITION
from proreus.server.custom.prune import prune
from proreus.server.custom.structural import parse
from proreus.server.custom.validate import validate_object
from proreus.testing.server import running_server

_DEFINITIONS = 500
_OBJECTS = 2000


def run() -> list[Row]:
    return [*_schemas(), *asyncio.run(_server())]


def _schemas() -> list[Row]:
    schema = _large(depth=4, width=7)
    body = _definition("widgets", "Widget", schema)
    DEFINITION.default(body)
    DEFINITION.prepare_create(body)
    parsed = parse(schema)
    obj = {"spec": _value(4, 7)}
    prune(obj, parsed)
    lines = _count(schema)

    def judged() -> None:
        prune(obj, parsed)
        default(obj, parsed, is_root=True)
        validate_object(obj, parsed)

    return [
        Row(f"check a definition of {lines} fields", _ms(lambda: DEFINITION.validate(body)), "ms",
            100),
        Row("make it ready to serve", _ms(lambda: parse(schema)), "ms", 100),
        Row("prune, default and validate one of its objects", _ms(judged), "ms"),
    ]  # fmt: skip


async def _server() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        config = ServerConfig(data_dir=Path(folder), tls=False, port=0)
        async with running_server(config) as server, server.client() as client:
            began = time.perf_counter()
            await _define(client)
            defined_s = time.perf_counter() - began
            rows = await _lists(client)
        began = time.perf_counter()
        async with running_server(config) as server, server.client() as client:
            await client.resource(f"widgets{_DEFINITIONS - 1}.v1.example.com").list()
            started_s = time.perf_counter() - began
    return [
        Row(f"create {_DEFINITIONS} definitions until all are served", defined_s, "s"),
        Row(f"start with {_DEFINITIONS} definitions until the last is listed", started_s, "s", 3),
        *rows,
    ]


async def _define(client: Client) -> None:
    definitions = client.resource("customresourcedefinitions.v1.apiextensions.k8s.io")
    schema = _large(depth=2, width=5)
    for number in range(_DEFINITIONS):
        await definitions.create(_definition(f"widgets{number}", f"Widget{number}", schema))
    last = f"widgets{_DEFINITIONS - 1}.example.com"
    await definitions.wait_for(last, "condition=Established", timeout_s=120)


async def _lists(client: Client) -> list[Row]:
    custom = client.resource("widgets0.v1.example.com")("default")
    builtin = client.core_v1.configmaps("default")
    for number in range(_OBJECTS):
        metadata = {"name": f"a{number}", "namespace": "default"}
        body = {"apiVersion": "example.com/v1", "kind": "Widget0", "metadata": metadata}
        await custom.create({**body, "spec": {"f0": {"f0": "x" * 100}}})
        await builtin.create({"metadata": metadata, "data": {"f0": "x" * 100}})
    path = "/apis/example.com/v1/namespaces/default/widgets0"
    mine = await _list_ms(client, path)
    theirs = await _list_ms(client, "/api/v1/namespaces/default/configmaps")
    return [
        Row(f"list {_OBJECTS} custom objects", mine, "ms", theirs * 1.2),
        Row(f"list {_OBJECTS} config maps of the same size", theirs, "ms"),
    ]


async def _list_ms(client: Client, path: str) -> float:
    best = float("inf")
    for _ in range(10):
        began = time.perf_counter()
        await client.get_raw(path)
        best = min(best, time.perf_counter() - began)
    return best * 1000


def _ms(work: Callable[[], Any]) -> float:
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best * 1000


def _large(depth: int, width: int) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": _field(depth, width)}}


def _field(depth: int, width: int) -> dict[str, Any]:
    if not depth:
        return {"type": "string", "maxLength": 1000, "description": "A field of a large schema."}
    fields = {f"f{number}": _field(depth - 1, width) for number in range(width)}
    fields["list"] = {"type": "array", "items": {"type": "string", "pattern": "^[a-z]*$"}}
    fields["count"] = {"type": "integer", "minimum": 0, "default": 1}
    return {"type": "object", "properties": fields}


def _value(depth: int, width: int) -> Any:
    if not depth:
        return "text"
    fields = {f"f{number}": _value(depth - 1, width) for number in range(min(width, 3))}
    return {**fields, "list": ["a", "b"]}


def _count(schema: Any) -> int:
    fields = schema.get("properties", {})
    return len(fields) + sum(_count(field) for field in fields.values())


def _definition(plural: str, kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }
