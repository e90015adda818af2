"""What it costs to show objects: frames, lists and tables of pods of about 3.7 kB; documents."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from benchmarks.report import CpuTimer, Row
from proreus.aio.clock import SystemClock
from proreus.api.wire import splice
from proreus.server.discovery.aggregated import AggregatedDiscovery
from proreus.server.discovery.openapi_v2 import OpenApiV2
from proreus.server.discovery.openapi_v3 import OpenApiV3
from proreus.server.kinds import builtin_resources
from proreus.server.registry.catalog import Catalog
from proreus.server.schema.definitions import Definitions
from proreus.server.views import JsonView, MetadataView, ResponseView, TableView
from proreus.server.views.list_encodings import json_pieces
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.query import ListResult

_TIME = "2026-11-16T00:00:00Z"
_PODS = 10_000
_PAGE = 500


def _listed(view: ResponseView, listing: ListResult) -> bytes:
    return b"".join(json_pieces(view.parts(listing)))


def run() -> list[Row]:
    resource = next(r for r in builtin_resources() if r.plural == "pods")
    pods = _pods()
    whole, metadata = JsonView(resource), MetadataView()
    table = TableView(resource.printer, whole, SystemClock())
    page = ListResult(pods[:_PAGE], 1)
    rows = [
        Row("list of 10,000 pods", _ms(lambda: _listed(whole, ListResult(pods, 1))), "ms CPU", 60),
        Row("page of 500 pods", _ms(lambda: _listed(whole, page)), "ms CPU", 4),
        Row("page of 500 as metadata", _ms(lambda: _listed(metadata, page)), "ms CPU", 8),
        Row("page of 500 as Table", _ms(lambda: _listed(table, page)), "ms CPU", 26),
        Row("event frame", _each(whole, pods), "µs CPU", 2),
        Row("event frame, metadata", _each(metadata, pods), "µs CPU", 12),
        Row("event frame, Table", _each(table, pods), "µs CPU", 60),
    ]
    return rows + _documents()


def _documents() -> list[Row]:
    catalog, source = Catalog(builtin_resources()), Definitions.load()
    return [
        Row(
            "aggregated discovery", _ms(lambda: AggregatedDiscovery(catalog).groups(), 1), "ms CPU"
        ),
        Row("OpenAPI v3 index", _ms(lambda: OpenApiV3(catalog, source).index(), 1), "ms CPU"),
        Row(
            "OpenAPI v3 of core/v1",
            _ms(lambda: OpenApiV3(catalog, source).document("api/v1"), 1),
            "ms CPU",
        ),
        Row("OpenAPI v2", _ms(lambda: OpenApiV2(catalog, source).protobuf(), 1), "ms CPU"),
    ]


def _ms(action: Callable[[], Any], repeats: int = 5) -> float:
    return 1e3 * min(_timed(action) for _ in range(repeats))


def _each(view: Any, pods: list[CachedObject]) -> float:
    some = pods[:_PAGE]
    return (
        1e6 / len(some) * min(_timed(lambda: [view.event("ADDED", p) for p in some]) for _ in "123")
    )


def _timed(action: Callable[[], Any]) -> float:
    gc.collect()
    with CpuTimer() as timer:
        action()
    return timer.cpu_s


def _pods() -> list[CachedObject]:
    stored = splice.stored_from_object(_pod())
    return [
        CachedObject(
            f"ns/p{n}",
            n,
            splice.item_from_stored(stored, n),
            namespace="ns",
            name=f"p{n}",
            labels={},
            fields={},
        )
        for n in range(1, _PODS + 1)
    ]


def _pod() -> dict[str, Any]:
    owned: dict[str, Any] = {
        f'k:{{"name":"c{n}"}}': {"f:image": {}, "f:name": {}} for n in range(4)
    }
    entry = {"manager": "m", "operation": "Update", "apiVersion": "v1", "time": _TIME}
    entries = [{**entry, "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": owned}}] * 3
    ready = ("Ready", "Initialized", "ContainersReady", "PodScheduled")
    return {
        "metadata": {
            "name": "p",
            "namespace": "ns",
            "uid": "3b6f7a52-0000-4000-8000-000000000000",
            "creationTimestamp": _TIME,
            "labels": {"app": "web", "tier": "front"},
            "managedFields": entries,
        },
        "spec": {"containers": [_container(n) for n in range(2)], "nodeName": "n1"},
        "status": {
            "phase": "Running",
            "podIPs": [{"ip": "10.0.0.1"}],
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": _TIME} for kind in ready
            ],
            "containerStatuses": [_container_status(n) for n in range(2)],
        },
    }


def _container(number: int) -> dict[str, Any]:
    return {
        "name": f"c{number}",
        "image": "example.com/web:1.2.3",
        "env": [{"name": f"VARIABLE_{n}", "value": "x" * 24} for n in range(8)],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
    }


def _container_status(number: int) -> dict[str, Any]:
    return {
        "name": f"c{number}",
        "ready": True,
        "restartCount": 1,
        "state": {"running": {"startedAt": _TIME}},
        "lastState": {"terminated": {"exitCode": 1, "finishedAt": _TIME}},
        "imageID": "i" * 64,
        "containerID": "c" * 64,
    }
