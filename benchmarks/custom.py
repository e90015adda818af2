"""Custom resources: how long definitions take, and what their objects cost beside built-in ones."""

from __future__ import annotations

import asyncio
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import well_known
from benchmarks._definitions import definition
from benchmarks.report import CpuTimer, Row
from proreus.client import Client
from proreus.server.config import ServerConfig
from proreus.server.custom.definition import names
from proreus.server.custom.definition.rules import DEFINITION
from proreus.server.custom.schema.default import default
from proreus.server.custom.schema.prune import prune
from proreus.server.custom.schema.structural import parse
from proreus.server.custom.schema.validate import validate_object
from proreus.server.custom.schema.validation_rules.program import SchemaRules
from proreus.server.custom.serving.kind import build
from proreus.testing.server import running_server

_DEFINED = "customresourcedefinitions.v1.apiextensions.k8s.io"
_DEFINITIONS = 500
_OBJECTS = 2000


def run() -> list[Row]:
    return [
        *_schemas(),
        *_well_known(),
        *asyncio.run(_well_known_over_http()),
        *_rules(),
        *asyncio.run(_server()),
    ]


def _schemas() -> list[Row]:
    schema = _large(depth=4, width=7)
    parsed = parse(schema)
    obj = {"spec": _value(4, 7)}
    prune(obj, parsed)

    def validated() -> None:
        prune(obj, parsed)
        default(obj, parsed)
        validate_object(obj, parsed)

    fields = _count(schema)
    return [Row(f"validate an object of a schema of {fields} fields", _ms(validated), "ms")]


def _well_known() -> list[Row]:
    """What a definition costs from its body to being served, storage aside."""
    rows: list[Row] = []
    for name, body in well_known.definitions().items():
        DEFINITION.default(body)
        DEFINITION.prepare_create(body)
        metadata = {**body["metadata"], "uid": "u"}
        ready = {**body, "metadata": metadata, "status": names.names_status(body, [], 0)}

        def load(body: dict[str, Any] = body, ready: dict[str, Any] = ready) -> None:
            assert not DEFINITION.validate(body)
            build(ready, lambda obj, _: obj, 0)

        question = f"load a definition like {name}, {well_known.lines(body)} lines"
        rows.append(Row(question, _ms(load), "ms", 100))
    return rows


async def _well_known_over_http() -> list[Row]:
    """From the request until the definition says Established, stored in a file; both ends."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        config = ServerConfig(data_dir=Path(folder), tls=False, port=0)
        async with running_server(config) as server, server.client() as client:
            for name, body in well_known.definitions().items():
                best = min([await _loaded_ms(client, body) for _ in range(5)])
                question = f"create a definition like {name} until established, both ends, CPU"
                rows.append(Row(question, best, "ms", 100))
    return rows


async def _loaded_ms(client: Client, body: dict[str, Any]) -> float:
    definitions = client.resource(_DEFINED)
    name = body["metadata"]["name"]
    with CpuTimer() as timer:
        await definitions.create(body)
        await definitions.wait_for(name, "condition=Established", timeout_s=30)
    await definitions.delete(name)
    await definitions.wait_deleted(name, timeout_s=30)
    return timer.cpu_s * 1000


def _rules() -> list[Row]:
    """Rules on objects: what a plain one takes, and how soon a hostile one is stopped."""
    items = {"type": "array", "items": {"type": "integer"}}
    fields = {"count": {"type": "integer"}, "list": items}
    schema: dict[str, Any] = {"type": "object", "properties": fields}
    plain = [{"rule": "self.count < 10"}, {"rule": "self.list.all(x, x >= 0)"}]
    hostile = "self.list.all(x, self.list.all(y, self.list.all(z, x + y != z || x == y)))"
    fast = SchemaRules(parse({**schema, "x-kubernetes-validations": plain}))
    slow = SchemaRules(parse({**schema, "x-kubernetes-validations": [{"rule": hostile}]}))
    small, large = {"count": 1, "list": list(range(20))}, {"list": list(range(100_000))}
    return [
        Row("two rules, one of them over 20 items", _ms(lambda: fast.violations(small)), "ms", 1),
        Row("a rule over 100,000³ items until it is stopped",
            _ms(lambda: slow.violations(large)), "ms", 1000),
    ]  # fmt: skip


async def _server() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        config = ServerConfig(data_dir=Path(folder), tls=False, port=0)
        async with running_server(config) as server, server.client() as client:
            memory = _resident_kb()
            with CpuTimer() as timer:
                await _define(client)
            grown = (_resident_kb() - memory) / _DEFINITIONS
        began = time.perf_counter()
        async with running_server(config) as server, server.client() as client:
            await client.resource(f"widgets{_DEFINITIONS - 1}.v1.example.com").list()
            started_s = time.perf_counter() - began
            rows = await _lists(client)
    each = timer.cpu_s / _DEFINITIONS * 1000
    return [
        Row(
            f"create one of {_DEFINITIONS} definitions until served, both ends, CPU", each, "ms", 5
        ),
        Row(f"memory per definition of {_count(_small())} fields, both ends", grown, "kB"),
        Row(f"start with {_DEFINITIONS} definitions until the last is listed", started_s, "s", 3),
        *rows,
    ]


def _resident_kb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1024


async def _define(client: Client) -> None:
    definitions = client.resource(_DEFINED)
    for number in range(_DEFINITIONS):
        schema = {**_small(), "description": f"Number {number}."}
        await definitions.create(definition(f"widgets{number}", f"Widget{number}", schema))
    last = f"widgets{_DEFINITIONS - 1}.example.com"
    await definitions.wait_for(last, "condition=Established", timeout_s=120)


async def _lists(client: Client) -> list[Row]:
    """The same bytes on the wire: custom objects in lists carry their kind, others do not."""
    mine = "/apis/example.com/v1/namespaces/default/widgets0"
    theirs = "/api/v1/namespaces/default/configmaps"
    empty = [len(await client.get_raw(path)) for path in (mine, theirs)]
    await _create_both(client, "a0", 0)
    one = [len(await client.get_raw(path)) for path in (mine, theirs)]
    padding = (one[0] - empty[0]) - (one[1] - empty[1])
    for number in range(1, _OBJECTS):
        await _create_both(client, f"a{number}", padding)
    best = {mine: float("inf"), theirs: float("inf")}
    for _ in range(40):
        for path in best:
            with CpuTimer() as timer:
                await client.get_raw(path)
            best[path] = min(best[path], timer.cpu_s * 1000)
    return [
        Row(f"list {_OBJECTS} custom objects, CPU", best[mine], "ms", best[theirs] * 1.05),
        Row(f"list as many bytes of {_OBJECTS} config maps, CPU", best[theirs], "ms"),
        *await _watches(client),
    ]


async def _create_both(client: Client, name: str, padding: int) -> None:
    metadata = {"name": name, "namespace": "default"}
    body = {"apiVersion": "example.com/v1", "kind": "Widget0", "metadata": metadata}
    custom = client.resource("widgets0.v1.example.com")("default")
    await custom.create({**body, "spec": {"f0": {"f0": "x" * 100}}})
    text = "x" * (100 + padding)
    await client.core_v1.configmaps("default").create({"metadata": metadata, "data": {"f0": text}})


async def _watches(client: Client) -> list[Row]:
    """Events from the first to the last, sent on connecting."""
    rows: dict[str, float] = {}
    for _ in range(5):
        for one in ("widgets0.v1.example.com", "configmaps"):
            watched = client.resource(one)("default")
            with CpuTimer() as timer:
                seen = 0
                async with watched.watch(resource_version="0") as events:
                    async for _event in events:
                        seen += 1
                        if seen == _OBJECTS:
                            break
            rows[one] = min(rows.get(one, float("inf")), timer.cpu_s * 1000)
    mine, theirs = rows.values()
    return [
        Row(f"watch {_OBJECTS} custom objects, both ends, CPU", mine, "ms", theirs * 1.05),
        Row(f"watch {_OBJECTS} config maps, both ends, CPU", theirs, "ms"),
    ]


def _ms(work: Callable[[], Any]) -> float:
    """CPU, the best of five."""
    best = float("inf")
    for _ in range(5):
        with CpuTimer() as timer:
            work()
        best = min(best, timer.cpu_s)
    return best * 1000


def _small() -> dict[str, Any]:
    return _large(depth=2, width=5)


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
