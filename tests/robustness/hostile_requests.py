"""Requests that once held the server's event loop, and their neighbours.

Each is legal HTTP that any user may send. What the server answers is not the point here, only that
nobody else has to wait for it; codes are given so that an entry does not miss its target unnoticed.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from urllib.parse import quote

from tests.robustness.wire import CONFIG_MAPS

PODS = "/api/v1/pods"
YAML, PROTOBUF = "application/yaml", "application/vnd.kubernetes.protobuf"
_META = "g=meta.k8s.io;v=v1"
TABLE = f"application/json;as=Table;{_META}"
METADATA = f"application/json;as=PartialObjectMetadataList;{_META}"
PROTOBUF_METADATA = f"{PROTOBUF};as=PartialObjectMetadataList;{_META}"
_LARGE = "/api/v1/namespaces/default/configmaps/large"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hostile:
    """``times`` of it are sent at once. A watch ends by itself after a second."""

    name: str
    path: str
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: Callable[[], bytes | None] = lambda: None
    code: int = 200
    times: int = 1


def hostile_requests() -> Iterator[Hostile]:
    yield from _selectors()
    yield from _lists()
    yield from _watches()
    yield from _single_objects()
    yield from _documents()
    yield from _bodies()
    yield from _patches()


def _joined(form: str, count: int) -> str:
    return ",".join(form.format(number) for number in range(count))


def _selectors() -> Iterator[Hostile]:
    labels = {
        "the same inequality": _joined("n!=x", 6_000),
        "inequalities of one key": _joined("n!=x{}", 6_000),
        "inequalities of many keys": _joined("k{}!=x", 6_000),
        "absent keys": _joined("!k{}", 6_000),
        "sets that exclude": _joined("k{} notin (a,b)", 2_000),
        "one set of many values": f"n in ({_joined('{}', 8_000)})",
        "bounds": _joined("n>{}", 6_000),
        "a fault at the end": _joined("n!=x{}", 6_000) + ",n=%",
    }
    for name, text in labels.items():
        code = 400 if "fault" in name else 200
        path = f"{PODS}?labelSelector={quote(text, safe='!=,')}"
        yield Hostile(name=f"label selector: {name}", path=path, code=code)
    text = quote(_joined("n!=x{}", 3_000), safe="!=,")
    yield Hostile(name="label selectors, 10", path=f"{PODS}?labelSelector={text}", times=10)
    yield Hostile(
        name="label selector and a page",
        path=f"{PODS}?limit=1&labelSelector={quote(_joined('!k{}', 3_000))},missing",
    )
    fields = {
        "inequalities": _joined("metadata.name!=x{}", 2_900),
        "two fields": _joined("metadata.name!=x{},spec.nodeName!=y{}".replace("{}", "{0}"), 1_400),
        "equalities": _joined("metadata.name=x{}", 2_900),
    }
    for name, text in fields.items():
        yield Hostile(name=f"field selector: {name}", path=f"{PODS}?fieldSelector={text}")
    yield Hostile(
        name="collection deleted by selector",
        method="DELETE",
        path=f"{PODS.replace('/pods', '/namespaces/default/pods')}?dryRun=All&labelSelector={text}",
    )


# What takes seconds to encode even of a few.
_SOME = {"YAML": "?limit=400", "protobuf": "?limit=4000", "metadata in protobuf": "?limit=4000"}


def _lists() -> Iterator[Hostile]:
    looks = {
        "JSON": "application/json",
        "YAML": YAML,
        "protobuf": PROTOBUF,
        "Table": TABLE,
        "metadata": METADATA,
        "metadata in protobuf": PROTOBUF_METADATA,
    }
    for name, accept in looks.items():
        path = PODS + _SOME.get(name, "")
        plain = (("Accept", accept),)
        yield Hostile(name=f"list as {name}", path=path, headers=plain)
        zipped = (*plain, ("Accept-Encoding", "gzip"))
        yield Hostile(name=f"list as {name}, compressed", path=path, headers=zipped)
    pretty = f"{PODS}?pretty=true"
    yield Hostile(name="list as indented JSON", path=pretty)
    yield Hostile(name="list for curl", path=PODS, headers=(("User-Agent", "curl/8"),))
    whole = f"{PODS}?includeObject=Object"
    yield Hostile(name="list as Table with objects", path=whole, headers=(("Accept", TABLE),))
    table = (("Accept", TABLE),)
    yield Hostile(name="lists as Table, 10", path=f"{PODS}?limit=1000", headers=table, times=10)
    packed = (("Accept", PROTOBUF),)
    yield Hostile(name="lists as protobuf, 10", path=f"{PODS}?limit=500", headers=packed, times=10)
    text = (("Accept", YAML),)
    yield Hostile(name="lists as YAML, 10", path=f"{PODS}?limit=50", headers=text, times=10)
    yield Hostile(
        name="lists of a revision to come, 300",
        path=f"{PODS}?resourceVersion=99999999",
        code=504,
        times=300,
    )


def _watches() -> Iterator[Hostile]:
    looks = {
        "JSON": "application/json",
        "protobuf": PROTOBUF,
        "Table": f"application/json;as=Table;{_META}",
        "metadata": f"application/json;as=PartialObjectMetadata;{_META}",
    }
    for name, accept in looks.items():
        path = "/api/v1/namespaces/ns-1/pods?watch=1&timeoutSeconds=1&resourceVersion=0"
        headers = (("Accept", accept),)
        yield Hostile(name=f"watches as {name}, 10", path=path, headers=headers, times=10)
    text = quote(_joined("k{}!=x", 3_000), safe="!=,")
    yield Hostile(
        name="watches with many requirements, 10",
        path=f"{PODS}?watch=1&timeoutSeconds=1&resourceVersion=0&labelSelector={text},missing",
        times=10,
    )


@cache
def large_config_map(name: str = "large") -> bytes:
    """Of many small values; about 1 MB."""
    data = {f"key-{number:06}": "value" for number in range(45_000)}
    return json.dumps({"metadata": {"name": name}, "data": data}).encode()


def _single_objects() -> Iterator[Hostile]:
    yield Hostile(
        name="large object created",
        method="POST",
        path=f"{CONFIG_MAPS}?dryRun=All",
        body=partial(large_config_map, "another"),
        code=201,
    )
    looks = {"JSON": "application/json", "YAML": YAML, "protobuf": PROTOBUF, "Table": TABLE}
    for name, accept in looks.items():
        yield Hostile(name=f"large object as {name}", path=_LARGE, headers=(("Accept", accept),))
        yield Hostile(
            name=f"list with a large object as {name}",
            path=CONFIG_MAPS,
            headers=(("Accept", accept),),
        )
    yield Hostile(name="large object, indented", path=f"{_LARGE}?pretty=1")
    yield Hostile(
        name="watch of a large object as protobuf",
        path=f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1&resourceVersion=0",
        headers=(("Accept", PROTOBUF),),
    )


def _documents() -> Iterator[Hostile]:
    v2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    yield Hostile(name="OpenAPI v2", path="/openapi/v2")
    yield Hostile(name="OpenAPI v2 in protobuf", path="/openapi/v2", headers=(("Accept", v2),))
    yield Hostile(name="OpenAPI v3", path="/openapi/v3")
    yield Hostile(name="OpenAPI v3 of a group", path="/openapi/v3/api/v1", times=5)
    yield Hostile(name="metrics", path="/metrics", times=5)
    aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    yield Hostile(name="discovery", path="/apis", headers=(("Accept", aggregated),), times=10)
    for path in ("/api/v1", "/apis", "/apis/apps/v1"):
        yield Hostile(name=f"{path} as YAML", path=path, headers=(("Accept", YAML),), times=10)


def _bodies() -> Iterator[Hostile]:
    yield from _json_bodies()
    yield from _yaml_bodies()
    pods = CONFIG_MAPS.replace("configmaps", "pods")
    packed = (("Content-Type", PROTOBUF),)
    for name, count, code in (("many", 1_000_000, 413), ("fewer", 90_000, 422)):
        yield Hostile(
            name=f"protobuf of {name} empty containers",
            method="POST",
            path=pods,
            headers=packed,
            body=partial(_protobuf_containers, count),
            code=code,
        )
    yield Hostile(
        name="JSON of empty containers",
        method="POST",
        path=pods,
        body=lambda: b'{"spec":{"containers":[%b{}]}}' % (b"{}," * 80_000),
        code=422,
    )
    yield Hostile(
        name="compressed body",
        method="POST",
        path=CONFIG_MAPS,
        headers=(("Content-Encoding", "gzip"),),
        body=lambda: gzip.compress(large_config_map("zipped") * 20),
        code=400,
    )


def _json_bodies() -> Iterator[Hostile]:
    texts: dict[str, tuple[int, Callable[[], bytes]]] = {
        "empty objects": (413, lambda: b'{"data":[%b{}]}' % (b"{}," * 900_000)),
        "empty lists": (413, lambda: b'{"data":[%b[]]}' % (b"[]," * 900_000)),
        "small numbers": (400, lambda: b'{"data":[%b1]}' % (b"1," * 900_000)),
        "repeated keys": (422, lambda: b'{"data":{%b"a":""}}' % (b'"a":"",' * 40_000)),
        "unknown fields": (
            422,
            lambda: b"{%b}" % b",".join(b'"f%d":{}' % n for n in range(90_000)),
        ),
        "open brackets": (400, lambda: b'{"data":%b' % (b"[" * 900_000)),
        "escapes and no end": (400, lambda: b'{"data":"%b' % (b"\\u0041" * 50_000)),
    }
    for name, (code, make) in texts.items():
        yield Hostile(
            name=f"JSON of {name}", method="POST", path=CONFIG_MAPS, body=make, code=code, times=2
        )


def _yaml_bodies() -> Iterator[Hostile]:
    texts: dict[str, tuple[int, Callable[[], bytes]]] = {
        "empty objects": (413, lambda: b"data: [%b{}]" % (b"{}," * 300_000)),
        "deep lists": (400, lambda: b"data: %b%b" % (b"[" * 4_000, b"1,[]," * 100_000)),
        "many keys": (422, lambda: b"data:\n" + b"".join(b" k%d: v\n" % n for n in range(10_000))),
        "aliases": (400, lambda: b"a: &a [x]\ndata: [%b*a]" % (b"*a," * 50_000)),
    }
    for name, (code, make) in texts.items():
        yield Hostile(
            name=f"YAML of {name}",
            method="POST",
            path=f"{CONFIG_MAPS}?dryRun=All",
            headers=(("Content-Type", YAML),),
            body=make,
            code=code,
        )


def _protobuf_containers(count: int) -> bytes:
    return protobuf_pod(b"\x12\x00" * count)


def _patches() -> Iterator[Hostile]:
    def merge() -> bytes:
        return json.dumps({"data": {f"k{n}": "v" for n in range(100_000)}}).encode()

    def operations() -> bytes:
        operation = {"op": "test", "path": "/data/key-000001", "value": "value"}
        return json.dumps([operation] * 10_000).encode()

    def applied() -> bytes:
        return json.dumps(
            {
                "kind": "ConfigMap",
                "apiVersion": "v1",
                "metadata": {"name": "large"},
                "data": {f"k{n}": "v" for n in range(50_000)},
            }
        ).encode()

    patches = {
        "merge-patch+json": merge,
        "json-patch+json": operations,
        "apply-patch+yaml": applied,
    }
    for kind, make in patches.items():
        yield Hostile(
            name=f"large object patched by {kind}",
            method="PATCH",
            path=f"{_LARGE}?dryRun=All&fieldManager=a&force=true"
            if kind.startswith("apply")
            else f"{_LARGE}?dryRun=All",
            headers=(("Content-Type", f"application/{kind}"),),
            body=make,
        )


def protobuf_pod(spec: bytes) -> bytes:
    def field(tag: int, body: bytes) -> bytes:
        size, length = len(body), bytearray()
        while size > 0x7F:
            length.append(size & 0x7F | 0x80)
            size >>= 7
        return bytes((tag, *length, size)) + body

    type_meta = field(0x0A, field(0x0A, b"v1") + field(0x12, b"Pod"))
    return b"k8s\0" + type_meta + field(0x12, field(0x12, spec))
