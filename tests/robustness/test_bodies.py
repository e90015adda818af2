"""Whatever a body is, it is stored whole or refused with a Status, and costs little to refuse."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from proreus.server.app import ApiServer
from tests.robustness.hostile_requests import protobuf_pod
from tests.robustness.wire import CONFIG_MAPS, ask, assert_alive, config_map, connected, names

JSON = [("Content-Type", "application/json")]
YAML = [("Content-Type", "application/yaml")]
PROTOBUF = [("Content-Type", "application/vnd.kubernetes.protobuf")]
LIMIT = 3 * 1024 * 1024
PODS = "/api/v1/namespaces/default/pods"
LASTING = pytest.mark.asyncio(loop_scope="module")  # with lasting_server


def alias_bomb() -> bytes:
    """Ten lines that would be ten billion values."""
    lines = ["a: &a [1,1,1,1,1,1,1,1,1,1]"]
    for below, letter in zip("abcdefghi", "bcdefghij", strict=True):
        lines.append(f"{letter}: &{letter} [{','.join([f'*{below}'] * 10)}]")
    return "\n".join(lines).encode()


def alias_tower() -> bytes:
    """Each anchor is 200 deep and stands on the one before: shallow as text, deep as a value."""
    lines = ["a0: &a0 " + "[" * 200 + "]" * 200]
    for number in range(1, 30):
        inside = f"*a{number - 1}"
        lines.append(f"a{number}: &a{number} " + "[" * 200 + inside + "]" * 200)
    return "\n".join(lines).encode()


MALFORMED = {
    "nothing": (JSON, b""),
    "no JSON": (JSON, b"{"),
    "two values": (JSON, b"{} {}"),
    "a list": (JSON, b"[]"),
    "a number": (JSON, b"1"),
    "text": (JSON, b'"x"'),
    "a comment": (JSON, b"{/* */}"),
    "NaN": (JSON, b'{"metadata": NaN}'),
    "NUL bytes": (JSON, bytes(100)),
    "UTF-16": (JSON, '{"metadata":{"name":"a"}}'.encode("utf-16")),
    "10,000 deep lists": (JSON, b'{"data":' + b"[" * 10_000 + b"]" * 10_000 + b"}"),
    "10,001 deep objects": (JSON, b'{"a":' * 10_001 + b"1" + b"}" * 10_001),
    "3 MiB of open lists": (JSON, b"[" * LIMIT),
    "3 MiB of numbers and a fault": (JSON, b"[" + b"1," * (LIMIT // 2 - 1) + b"]"),
    "10,000 open brackets": (JSON, b"[" * 10_000),
    "a name that is a list": (JSON, b'{"metadata":{"name":[]}}'),
    "metadata that is text": (JSON, b'{"metadata":"a"}'),
    "data that is a number": (JSON, b'{"metadata":{"name":"a"},"data":1}'),
    "values that are numbers": (JSON, b'{"metadata":{"name":"a"},"data":{"x":1}}'),
    "a number of 5,000 digits": (
        JSON,
        b'{"metadata":{"name":"a","generation":' + b"9" * 5_000 + b"}}",
    ),
    "a kind that is a number": (JSON, b'{"kind":1,"metadata":{"name":"a"}}'),
    "no YAML": (YAML, b"a: b: c"),
    "tabs in YAML": (YAML, b"a:\n\t- b"),
    "YAML that is no UTF-8": (YAML, b"metadata: {name: \xff}"),
    "an open YAML string": (YAML, b'"'),
    "10,001 deep YAML lists": (YAML, b"[" * 10_001 + b"]" * 10_001),
    "10,001 deep YAML maps": (YAML, b"{a: " * 10_001 + b"}" * 10_001),
    "3 MiB of open YAML lists": (YAML, b"[" * LIMIT),
    "3 MiB of open YAML blocks": (YAML, b"- " * (LIMIT // 2)),
    "a YAML alias bomb": (YAML, alias_bomb()),
    "a YAML anchor in itself": (YAML, b"a: &a [*a]"),
    "an unknown YAML alias": (YAML, b"a: *b"),
    "a list as a YAML key": (YAML, b"? [a]\n: b"),
    "a YAML infinity": (YAML, b"metadata: {name: a, generation: .inf}"),
    "a YAML number beyond 64 bits": (
        YAML,
        b"metadata: {name: a, generation: 18446744073709551616}",
    ),
    "no protobuf": (PROTOBUF, b"hello"),
    "empty protobuf": (PROTOBUF, b""),
    "protobuf of endless length": (PROTOBUF, b"k8s\0\x0a" + b"\xff" * 9 + b"\x01"),
    "protobuf that breaks off": (PROTOBUF, b"k8s\0\x0a\x10\x0a\x02"),
    "compressed JSON": ([*JSON, ("Content-Encoding", "gzip")], gzip.compress(config_map("a"))),
}


@pytest.mark.parametrize("what", MALFORMED)
@LASTING
async def test_a_malformed_body_is_a_bad_request_and_stores_nothing(
    lasting_server: ApiServer, what: str
) -> None:
    headers, body = MALFORMED[what]

    answer = await ask(lasting_server, "POST", CONFIG_MAPS, body, headers)

    assert (answer.code, answer.reason) == (400, "BadRequest"), answer
    assert await names(lasting_server) == []
    await assert_alive(lasting_server)


async def test_a_wrong_number_beside_something_deep_is_reported_as_ever(server: ApiServer) -> None:
    deep = b"[" * 9_000 + b"]" * 9_000
    body = b'{"metadata":{"name":"a","generation":1.5},"x":%b}' % deep

    answer = await ask(server, "POST", CONFIG_MAPS, body, JSON)

    assert (answer.code, answer.reason) == (400, "BadRequest"), answer
    assert "cannot unmarshal number 1.5 into" in answer.message


@pytest.mark.parametrize("name", ["metrics", "behavior", "conditions", "current-metrics"])
async def test_a_deep_annotation_that_is_read_as_json_counts_as_nothing(
    server: ApiServer, name: str
) -> None:
    path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
    key = f"autoscaling.alpha.kubernetes.io/{name}"
    body = {
        "metadata": {"name": "a", "annotations": {key: "[" * 50_000}},
        "spec": {"maxReplicas": 1, "scaleTargetRef": {"kind": "Deployment", "name": "a"}},
    }

    answer = await ask(server, "POST", path, json.dumps(body).encode(), JSON)

    assert answer.code == 201, answer


DEEP = {
    "objects": (JSON, b'{"metadata":{"name":"a"},"x":' + b'{"a":' * 9_999 + b"1" + b"}" * 10_000),
    "lists": (JSON, b'{"x":' + b"[" * 9_999 + b"]" * 9_999 + b',"metadata":{"name":"a"}}'),
    "YAML lists": (YAML, b"metadata: {name: a}\nx: " + b"[" * 9_000 + b"]" * 9_000),
    "YAML blocks": (YAML, b"metadata: {name: a}\nx:\n" + b"- " * 9_000 + b"1"),
    "YAML aliases": (YAML, b"metadata: {name: a}\n" + alias_tower()),
}


@pytest.mark.parametrize("what", DEEP)
async def test_an_unknown_field_may_nest_ten_thousand_levels_deep(
    server: ApiServer, what: str
) -> None:
    headers, body = DEEP[what]

    answer = await ask(server, "POST", CONFIG_MAPS, body, headers)

    assert answer.code == 201, answer
    assert 'unknown field \\"' in answer.headers["warning"]
    assert await names(server) == ["a"]
    assert (await ask(server, "GET", f"{CONFIG_MAPS}/a")).code == 200


WRONG: dict[str, tuple[int, str, dict[str, Any]]] = {
    "another kind": (400, "BadRequest", {"kind": "Secret", "apiVersion": "v1"}),
    "an unknown kind": (400, "BadRequest", {"kind": "Nothing", "apiVersion": "v1"}),
    "another version": (400, "BadRequest", {"kind": "ConfigMap", "apiVersion": "v2"}),
    "another group": (400, "BadRequest", {"kind": "ConfigMap", "apiVersion": "apps/v1"}),
    "no version at all": (400, "BadRequest", {"kind": "ConfigMap", "apiVersion": "a/b/c"}),
    "another namespace": (400, "BadRequest", {"metadata": {"name": "a", "namespace": "other"}}),
    "no name": (422, "Invalid", {"metadata": {}}),
    "a slash in the name": (422, "Invalid", {"metadata": {"name": "a/b"}}),
    "two dots as name": (422, "Invalid", {"metadata": {"name": ".."}}),
    "a percent sign": (422, "Invalid", {"metadata": {"name": "a%2fb"}}),
    "upper case": (422, "Invalid", {"metadata": {"name": "A"}}),
    "a NUL in the name": (422, "Invalid", {"metadata": {"name": "a\0"}}),
    "half a surrogate pair": (422, "Invalid", {"metadata": {"name": "a\ud800"}}),
    "a name of 254 letters": (422, "Invalid", {"metadata": {"name": "a" * 254}}),
    "a name of a million": (422, "Invalid", {"metadata": {"name": "a" * 1_000_000}}),
    "a bad generateName": (422, "Invalid", {"metadata": {"generateName": "../"}}),
    "a bad label": (422, "Invalid", {"metadata": {"name": "a", "labels": {"/": "x"}}}),
    "a bad finalizer": (422, "Invalid", {"metadata": {"name": "a", "finalizers": ["a b"]}}),
    "large annotations": (
        422,
        "Invalid",
        {"metadata": {"name": "a", "annotations": {"x": "y" * 300_000}}},
    ),
    "a bad key": (422, "Invalid", {"metadata": {"name": "a"}, "data": {"../x": "y"}}),
}


@pytest.mark.parametrize("what", WRONG)
@LASTING
async def test_a_wrong_object_is_refused_with_its_status_and_not_stored(
    lasting_server: ApiServer, what: str
) -> None:
    code, reason, fields = WRONG[what]
    body = json.dumps({"metadata": {"name": "a"}, **fields}).encode()

    answer = await ask(lasting_server, "POST", CONFIG_MAPS, body, JSON)

    assert (answer.code, answer.reason) == (code, reason), answer
    assert await names(lasting_server) == []


@pytest.mark.parametrize(
    "amount",
    ["1e99999999", "1e-99999999", "1E" + "9" * 5_000, "9" * 5_000, "0." + "9" * 5_000]
    + ["9" * 5_000 + "Ki", "1e", "--1", "1.2.3", "1Zi"],
    ids=lambda text: text[:12],
)
@LASTING
async def test_a_quantity_without_end_is_refused_at_once(
    lasting_server: ApiServer, amount: str
) -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": amount}}}
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [container]}}

    answer = await ask(lasting_server, "POST", PODS, json.dumps(pod).encode(), JSON)

    assert (answer.code, answer.reason) == (400, "BadRequest"), answer
    assert await names(lasting_server, PODS) == []


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "x", "/", ";", "image/*"])
@LASTING
async def test_an_unknown_content_type_is_refused(lasting_server: ApiServer, kind: str) -> None:
    answer = await ask(
        lasting_server, "POST", CONFIG_MAPS, config_map("a"), [("Content-Type", kind)]
    )

    assert (answer.code, answer.reason) == (415, "UnsupportedMediaType")
    assert await names(lasting_server) == []


async def test_a_body_declared_too_large_is_refused_before_it_comes(server: ApiServer) -> None:
    async with connected(server) as connection:
        await connection.send(
            connection.head("POST", CONFIG_MAPS, [("Content-Length", str(LIMIT + 1))])
        )
        answer = await connection.answer()

    assert (answer.code, answer.reason) == (413, "RequestEntityTooLarge")
    assert answer.message == f"Request entity too large: limit is {LIMIT}"
    await assert_alive(server)


async def test_a_chunked_body_is_refused_where_it_passes_the_limit(server: ApiServer) -> None:
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    async with connected(server) as connection:
        await connection.send(
            connection.head("POST", CONFIG_MAPS, [("Transfer-Encoding", "chunked")])
        )
        for _ in range(LIMIT // 0x10000 + 1):
            await connection.send(chunk)
        answer = await connection.answer()

    assert (answer.code, answer.reason) == (413, "RequestEntityTooLarge")
    await assert_alive(server)


async def test_a_body_is_read_as_it_was_sent_whatever_coding_it_claims(server: ApiServer) -> None:
    """kube-apiserver decompresses no request, so neither does this."""
    coding = [("Content-Encoding", "gzip")]
    created = await ask(server, "POST", CONFIG_MAPS, config_map("plain"), coding)
    assert created.code == 201

    packed = gzip.compress(config_map("packed"))
    refused = await ask(server, "POST", CONFIG_MAPS, packed, coding)

    assert (refused.code, refused.reason) == (400, "BadRequest")
    assert "invalid character '\\x1f' looking for beginning of value" in refused.message
    assert await names(server) == ["plain"]


def empty_objects(count: int) -> bytes:
    return b",".join([b"{}"] * count)


TOO_MANY = {
    "JSON": (JSON, b'{"metadata":{"name":"a"},"x":[%b]}' % empty_objects(100_001)),
    "JSON of lists": (JSON, b'{"metadata":{"name":"a"},"x":[%b[]]}' % (b"[]," * 100_001)),
    "YAML": (YAML, b"metadata: {name: a}\nx: [%b]" % empty_objects(100_001)),
    "JSON sent as YAML": (YAML, b'{"metadata":{"name":"a"},"x":[%b]}' % empty_objects(100_001)),
    "protobuf": (PROTOBUF, protobuf_pod(b"\x12\x00" * 100_001)),
}


@pytest.mark.parametrize("what", TOO_MANY)
@LASTING
async def test_a_body_of_more_objects_than_anyone_needs_is_too_large(
    lasting_server: ApiServer, what: str
) -> None:
    """Each takes two bytes to send and a hundred to keep."""
    headers, body = TOO_MANY[what]
    path = CONFIG_MAPS.replace("configmaps", "pods") if what == "protobuf" else CONFIG_MAPS

    answer = await ask(lasting_server, "POST", path, body, headers)

    assert (answer.code, answer.reason) == (413, "RequestEntityTooLarge"), answer
    assert answer.message == "Request entity too large: more than 100000 objects and lists"
    assert await names(lasting_server, path) == []


async def test_brackets_within_strings_are_no_objects(server: ApiServer) -> None:
    body = config_map("a", x='[{"' * 200_000)

    assert (await ask(server, "POST", CONFIG_MAPS, body, JSON)).code == 201


async def test_a_too_large_patch_changes_nothing(server: ApiServer) -> None:
    assert (await ask(server, "POST", CONFIG_MAPS, config_map("a"))).code == 201
    path, many = f"{CONFIG_MAPS}/a?fieldManager=m", empty_objects(100_001)
    merge = [("Content-Type", "application/merge-patch+json")]
    apply = [("Content-Type", "application/apply-patch+yaml")]

    merged = await ask(server, "PATCH", path, b'{"x":[%b]}' % many, merge)
    applied = await ask(server, "PATCH", path, b"x: [%b]" % many, apply)

    assert (merged.code, applied.code) == (413, 413), (merged, applied)


async def test_the_largest_body_is_taken(server: ApiServer) -> None:
    body = config_map("large", x="y" * 900_000)
    body += b" " * (LIMIT - len(body))

    assert (await ask(server, "POST", CONFIG_MAPS, body, JSON)).code == 201


async def test_a_job_without_a_name_is_invalid(server: ApiServer) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    body = json.dumps({"spec": {"template": template}}).encode()

    answer = await ask(server, "POST", "/apis/batch/v1/namespaces/default/jobs", body)

    assert (answer.code, answer.reason) == (422, "Invalid"), answer
    assert "name or generateName is required" in answer.message


async def test_negative_counts_in_a_status_are_invalid(server: ApiServer) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    body = json.dumps({"metadata": {"name": "a"}, "spec": spec}).encode()
    assert (await ask(server, "POST", path, body)).code == 201
    negative = {"metadata": {"name": "a"}, "spec": spec, "status": {"readyReplicas": -1}}

    answer = await ask(server, "PUT", f"{path}/a/status", json.dumps(negative).encode())

    assert (answer.code, answer.reason) == (422, "Invalid"), answer


JSON_PATCH, MERGE, STRATEGIC, APPLY = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
COPIES = [
    {"op": "add", "path": "/metadata/annotations", "value": {"a": "x" * 1_000}},
    *(
        {"op": "copy", "from": "/metadata/annotations", "path": f"/metadata/annotations/k{n}"}
        for n in range(40)
    ),
]
TOWER = [{"op": "add", "path": "/x" * height, "value": {}} for height in range(1, 300)]
PATCHES = {
    "empty": (JSON_PATCH, b"", 400),
    "no list": (JSON_PATCH, b"{}", 400),
    "no operation": (JSON_PATCH, b"[1]", 400),
    "a path that is a number": (JSON_PATCH, b'[{"op":"add","path":1}]', 400),
    "an unknown operation": (JSON_PATCH, b'[{"op":"burn","path":"/data"}]', 422),
    "a path to nowhere": (JSON_PATCH, b'[{"op":"remove","path":"/a/b/c"}]', 422),
    "all of it": (JSON_PATCH, b'[{"op":"replace","path":"","value":1}]', 422),
    "copies of copies": (JSON_PATCH, json.dumps(COPIES).encode(), 422),
    "10,001 operations": (
        JSON_PATCH,
        json.dumps([{"op": "test", "path": "/data"}] * 10_001).encode(),
        413,
    ),
    "operations that build something deep": (JSON_PATCH, json.dumps(TOWER).encode(), 400),
    "deep JSON patch": (JSON_PATCH, b"[" * 9_000 + b"]" * 9_000, 400),
    "no merge patch": (MERGE, b"[]", 400),
    "deep merge patch": (MERGE, b'{"a":' * 9_000 + b"1" + b"}" * 9_000, 400),
    "deep patch to apply": (APPLY, b"[" * 9_000 + b"]" * 9_000, 400),
    "deep strategic patch": (STRATEGIC, b'{"a":' * 9_000 + b"1" + b"}" * 9_000, 400),
    "numbers for text": (MERGE, b'{"data":{"x":1}}', 422),
    "another name": (MERGE, b'{"metadata":{"name":"b"}}', 400),
    "no strategic patch": (STRATEGIC, b"[]", 400),
    "an unknown directive": (STRATEGIC, b'{"data":{"$patch":"burn"}}', 500),
    "no YAML to apply": (APPLY, b"{", 400),
    "another object to apply": (APPLY, b"{apiVersion: v1, kind: Secret}", 400),
    "metadata that is text": (APPLY, b"{apiVersion: v1, kind: ConfigMap, metadata: x}", 500),
    "a finalizer beyond 64 bits": (
        APPLY,
        b"{apiVersion: v1, kind: ConfigMap, metadata: {finalizers: [18446744073709551616]}}",
        500,
    ),
    "an alias bomb to apply": (APPLY, alias_bomb(), 400),
    "an unknown type": ("application/json", b"{}", 415),
}


@pytest.mark.parametrize("what", PATCHES)
async def test_a_bad_patch_is_refused_and_changes_nothing(server: ApiServer, what: str) -> None:
    kind, body, code = PATCHES[what]
    before = await ask(server, "POST", CONFIG_MAPS, config_map("a", x="y"), JSON)
    path = f"{CONFIG_MAPS}/a?fieldManager=test"

    answer = await ask(server, "PATCH", path, body, [("Content-Type", kind)])

    assert answer.code == code, answer
    assert answer.reason != "InternalError"
    after = await ask(server, "GET", f"{CONFIG_MAPS}/a")
    assert after.json == before.json
