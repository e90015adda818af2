"""``…/proxy/…``: plain HTTP through the API server to nodes, pods and services."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from tests.cluster.streams.conftest import Kubectl, Stage
from tests.cluster.streams.test_port_forward import BODY, Web, web  # noqa: F401

PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/api/v1/namespaces/default/services"


def status(answer: httpx.Response) -> tuple[int, str, str]:
    said = answer.json()
    return said["code"], said.get("reason", ""), said["message"]


async def with_service(stage: Stage, port: int, *, ready: bool = True) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "site"},
        "spec": {"ports": [{"name": "web", "port": 8080}]},
    }
    slices = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "site-1", "labels": {"kubernetes.io/service-name": "site"}},
        "addressType": "IPv4",
        "ports": [{"name": "web", "port": port}],
        "endpoints": [
            {
                "addresses": ["10.0.0.9"],
                "conditions": {"ready": ready},
                "targetRef": {"kind": "Pod", "name": "web", "namespace": "default"},
            }
        ],
    }
    await stage.client.core_v1.services("default").create(service)
    await stage.client.discovery_v1.endpointslices("default").create(slices)


async def test_a_node_s_kubelet(stage: Stage, http: httpx.AsyncClient) -> None:
    pod = await stage.pod()
    await stage.streams.log(pod.uid).write("one", "two")
    node = "/api/v1/nodes/node-1/proxy"

    healthy = await http.get(f"{node}/healthz")
    pods = await http.get(f"/api/v1/nodes/node-1:{stage.kubelet.port}/proxy/pods/")
    log = await http.get(f"{node}/containerLogs/default/web/main?tailLines=1")
    missing = await http.get(f"{node}/made/up")

    assert (healthy.status_code, healthy.text) == (200, "ok")
    assert [one["metadata"]["name"] for one in pods.json()["items"]] == ["web"]
    assert log.text == "two\n"
    assert (missing.status_code, missing.text) == (404, "404 page not found\n")


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("configz", '"maxPods":7'),
        ("stats/summary", '"nodeName":"node-1"'),
        ("metrics", 'kubelet_node_name{node="node-1"} 1'),
        ("metrics/resource", "node_cpu_usage_seconds_total 0"),
        ("healthz/ping", "ok"),
        ("runningpods/", '"kind":"PodList"'),
    ],
)
async def test_what_a_kubelet_says_of_its_node(
    stage: Stage, http: httpx.AsyncClient, page: str, said: str
) -> None:
    answer = await http.get(f"/api/v1/nodes/node-1/proxy/{page}")

    assert answer.status_code == 200
    assert said in answer.text.replace(": ", ":")


@pytest.mark.parametrize("page", ["logs", "logs/", "logs/kubelet.log"])
async def test_a_node_does_not_serve_logs_of_its_machine(
    stage: Stage, http: httpx.AsyncClient, page: str
) -> None:
    answer = await http.get(f"/api/v1/nodes/node-1/proxy/{page}")

    assert (answer.status_code, answer.text) == (405, "logs endpoint is disabled.\n")


async def test_a_node_that_is_not_there_or_down(stage: Stage, http: httpx.AsyncClient) -> None:
    elsewhere = await http.get("/api/v1/nodes/node-1:22/proxy/")
    nobody = await http.get("/api/v1/nodes/nobody/proxy/healthz")
    await stage.point_node_to(1)
    down = await http.get("/api/v1/nodes/node-1/proxy/healthz")

    assert status(elsewhere)[0] == 400
    assert status(nobody) == (404, "NotFound", 'nodes "nobody" not found')
    assert status(down) == (
        503,
        "ServiceUnavailable",
        "error trying to reach service: dial tcp 127.0.0.1:1: connect: connection refused",
    )


async def test_a_pod_s_port(
    stage: Stage,
    http: httpx.AsyncClient,
    web: Web,  # noqa: F811
    kubectl: Kubectl,
) -> None:
    await stage.pod()

    answer = await http.get(f"{PODS}/web:{web.port}/proxy/a%20b/c?x=1&y=2")
    said = await kubectl("get", "--raw", f"{PODS}/http:web:{web.port}/proxy/")

    assert (answer.status_code, answer.content) == (200, BODY)
    assert web.asked[0] == b"GET /a%20b/c?x=1&y=2 HTTP/1.1"
    assert said.code == 0
    assert web.asked[1] == b"GET / HTTP/1.1"


async def test_a_service_s_pod(
    stage: Stage,
    http: httpx.AsyncClient,
    web: Web,  # noqa: F811
) -> None:
    await stage.pod()
    await with_service(stage, web.port)

    answers = [
        await http.get(f"{SERVICES}/{name}/proxy/") for name in ("site", "site:web", "site:8080")
    ]
    wrong = await http.get(f"{SERVICES}/site:9/proxy/")

    assert [answer.content for answer in answers] == [BODY] * 3
    assert status(wrong)[2] == 'no service port "9" found for service "site"'


async def test_what_cannot_be_reached_says_why(stage: Stage, http: httpx.AsyncClient) -> None:
    await stage.pod()
    await with_service(stage, 1, ready=False)

    closed = status(await http.get(f"{PODS}/web:1/proxy/"))
    nobody = status(await http.get(f"{SERVICES}/site/proxy/"))
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket"}
    socket = status(await http.get(f"{PODS}/web:1/proxy/", headers=upgrade))
    of_node = status(await http.get("/api/v1/nodes/node-1/proxy/", headers=upgrade))

    assert closed[:2] == (503, "ServiceUnavailable")
    assert "error forwarding port 1 to pod web" in closed[2]
    assert nobody == (
        503,
        "ServiceUnavailable",
        'no endpoints available for service "site"',
    )
    assert socket[:2] == (503, "ServiceUnavailable")
    assert of_node == (400, "BadRequest", "only plain HTTP is proxied")


@pytest.mark.parametrize("name", ["web:0", "web:x", "web:70000", "ftp:web:80", "a:b:c:d"])
async def test_what_is_no_target_is_refused(
    stage: Stage, http: httpx.AsyncClient, name: str
) -> None:
    await stage.pod()

    assert status(await http.get(f"{PODS}/{name}/proxy/"))[0] == 400


async def test_an_error_is_passed_on_while_it_is_being_sent(
    stage: Stage, http: httpx.AsyncClient
) -> None:
    """Nothing of it is kept, however long it is."""
    may_end = asyncio.Event()

    async def fail(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        await may_end.wait()
        writer.write(b"4\r\nlast\r\n0\r\n\r\n")
        writer.close()

    await stage.pod()
    async with await asyncio.start_server(fail, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with http.stream("GET", f"{PODS}/web:{port}/proxy/") as answer:
            pieces = answer.aiter_raw()
            first = await anext(pieces)
            may_end.set()
            rest = b"".join([piece async for piece in pieces])

    assert answer.status_code == 500
    assert (first, rest) == (b"first", b"last")


async def test_an_answer_without_a_body_is_passed_on(stage: Stage, http: httpx.AsyncClient) -> None:
    async def nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        writer.close()

    await stage.pod()
    async with await asyncio.start_server(nothing, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        answers = [await http.get(f"{PODS}/web:{port}/proxy/") for _ in range(2)]

    assert [(answer.status_code, answer.content) for answer in answers] == [(204, b"")] * 2


@asynccontextmanager
async def serving(answer: bytes, asked: list[bytes]) -> AsyncIterator[int]:
    """A port where every request is answered so; what was asked is gathered."""

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(say, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def test_headers_are_passed_on_and_those_of_the_connection_are_not(
    stage: Stage, http: httpx.AsyncClient
) -> None:
    said = (
        b"HTTP/1.1 418 Teapot\r\nContent-Type: text/x-odd\r\nETag: v1\r\nX-Mine: 1\r\nX-Mine: 2\r\n"
        b"Connection: close, X-Hop\r\nX-Hop: 1\r\nAccess-Control-Allow-Origin: *\r\n"
        b'Clear-Site-Data: "*"\r\nSet-Cookie: a=1; Path=/; Secure\r\n\r\nbody'
    )
    asked: list[bytes] = []
    await stage.pod()

    async with serving(said, asked) as port:
        path = f"{PODS}/web:{port}/proxy/a"
        answer = await http.get(path, headers={"X-Own": "yes", "Connection": "X-Hop", "X-Hop": "1"})

    assert (answer.status_code, answer.text) == (418, "body")
    assert answer.headers["Content-Type"] == "text/x-odd"
    assert answer.headers["ETag"] == "v1"
    assert answer.headers.get_list("X-Mine") == ["1", "2"]
    assert answer.headers["Audit-Id"]
    assert "X-Hop" not in answer.headers
    assert "Access-Control-Allow-Origin" not in answer.headers
    assert "Clear-Site-Data" not in answer.headers
    assert answer.headers["Set-Cookie"] == f"a=1; Secure; Path={PODS}/web:{port}/proxy/"
    lines = asked[0].decode().split("\r\n")
    assert "X-Own: yes" in lines
    assert f"X-Forwarded-Uri: {path}" in lines
    assert "X-Forwarded-For: 127.0.0.1" in lines
    assert not [line for line in lines if line.startswith(("X-Hop", "Authorization"))]


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
async def test_a_redirect_is_not_followed_but_led_back_through_the_proxy(
    stage: Stage, http: httpx.AsyncClient, method: str
) -> None:
    said = b"HTTP/1.1 302 Found\r\nLocation: /login?to=a\r\nContent-Length: 0\r\n\r\n"
    await stage.pod()

    asked: list[bytes] = []
    async with serving(said, asked) as port:
        answer = await http.request(method, f"{PODS}/web:{port}/proxy/a")

    assert answer.status_code == 302
    assert answer.headers["Location"] == f"{PODS}/web:{port}/proxy/login?to=a"
    assert len(asked) == 1


@pytest.mark.parametrize("packed", [False, True])
async def test_links_of_a_page_lead_back_through_the_proxy(
    stage: Stage, http: httpx.AsyncClient, *, packed: bool
) -> None:
    page = b'<a href="/rewriteme">test</a>'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
    said = head + (
        b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(page) if packed else b"\r\n" + page
    )
    await stage.pod()

    async with serving(said, []) as port:
        answer = await http.get(f"{PODS}/web:{port}/proxy/")

    assert answer.text == f'<a href="{PODS}/web:{port}/proxy/rewriteme">test</a>'
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"


async def test_a_page_that_is_too_long_for_that_is_passed_on_as_it_is(
    stage: Stage, http: httpx.AsyncClient
) -> None:
    page = b'<a href="/x">' * 200_000
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    await stage.pod()

    async with serving(head + page, []) as port:
        answer = await http.get(f"{PODS}/web:{port}/proxy/")

    assert answer.content == page


async def test_the_root_without_a_slash_leads_to_the_one_with_it(
    stage: Stage, http: httpx.AsyncClient
) -> None:
    """Relative links of a page are those of a folder."""
    await stage.pod()
    ok = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    asked: list[bytes] = []
    async with serving(ok, asked) as port:
        await with_service(stage, port)
        places = (f"{PODS}/web:{port}", f"{SERVICES}/site:web", "/api/v1/nodes/node-1")
        led = [
            await http.request(method, f"{place}/proxy?x=1")
            for place in places
            for method in ("GET", "HEAD")
        ]
        posted = await http.post(f"{PODS}/web:{port}/proxy?x=1")
        missing = await http.get(f"{PODS}/nobody/proxy")

    assert [one.status_code for one in led] == [301] * 6
    assert [one.headers["Location"] for one in led[::2]] == [
        f"{place}/proxy/?x=1" for place in places
    ]
    assert posted.text == "ok"
    assert [one.split(b"\r\n")[0] for one in asked] == [b"POST /?x=1 HTTP/1.1"]
    assert missing.status_code == 404


async def test_a_pod_may_agree_on_another_protocol(stage: Stage, http: httpx.AsyncClient) -> None:
    asked: list[bytes] = []

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        switched = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
        writer.write(switched + b"Upgrade: shouting\r\n\r\nhello ")
        while piece := await reader.read(100):
            writer.write(piece.upper())
        writer.close()

    await stage.pod()
    async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
        path = f"{PODS}/web:{server.sockets[0].getsockname()[1]}/proxy"
        upgrade = {"Connection": "Upgrade", "Upgrade": "shouting", "X-Own": "yes"}
        async with http.stream("GET", path, headers=upgrade) as answer:
            stream = answer.extensions["network_stream"]
            await stream.write(b"you")
            said = b""
            while len(said) < 9:
                said += await stream.read(100)

    assert answer.status_code == 101
    assert answer.headers["Upgrade"] == "shouting"
    assert said == b"hello YOU"
    lines = asked[0].decode().split("\r\n")
    assert lines[0] == "GET / HTTP/1.1"
    assert {"X-Own: yes", "Upgrade: shouting", "Connection: Upgrade"} <= set(lines)
    assert not [line for line in lines if line.lower().startswith("authorization")]


async def test_a_pod_that_refuses_another_protocol_says_so_itself(
    stage: Stage, http: httpx.AsyncClient
) -> None:
    said = b"HTTP/1.1 426 Upgrade Required\r\nX-Why: no\r\nContent-Length: 2\r\n\r\nno"
    await stage.pod()

    async with serving(said, []) as port:
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket"}
        answer = await http.get(f"{PODS}/web:{port}/proxy/", headers=upgrade)

    assert (answer.status_code, answer.text, answer.headers["X-Why"]) == (426, "no", "no")
