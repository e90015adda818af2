"""Nodes whose address is not a kubelet's: the API server itself, another server, no address."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import Any

import httpx

from proreus.net.tls import contexts
from tests.cluster.streams.conftest import NODE, Stage

PROXY = f"/api/v1/nodes/{NODE}/proxy"
SECRETS = f"{PROXY}/api/v1/secrets"
OWN = ("127.0.0.1", "localhost", "LOCALHOST", "0.0.0.0", "127.9.9.9", "::", "::1",
       "::ffff:127.0.0.1", "::ffff:7f00:1", "0x7f000001")  # fmt: skip
NO_HOSTS = ("127.0.0.1/api", "user@127.0.0.1", "a b", "a#b", "a?b", "fe80::1%lo", "[::1]", "a:b",
            "127.1", "2130706433")  # fmt: skip


def own_port(stage: Stage) -> int:
    return int(stage.server.url.rpartition(":")[2])


def status_of(answer: httpx.Response) -> tuple[int, str, str]:
    status: dict[str, Any] = answer.json()
    return status["code"], status.get("reason", ""), status["message"]


async def test_a_node_at_the_api_server_s_own_address_is_refused(
    stage: Stage, http: httpx.AsyncClient
) -> None:
    await stage.pod()
    said = {}
    for host in OWN:
        await stage.point_node_to(own_port(stage), host)
        proxied = await http.get(SECRETS)
        log = await http.get("/api/v1/namespaces/default/pods/web/log")
        said[host] = (status_of(proxied), status_of(log))

    refused = (400, "BadRequest", "address not allowed")
    assert said == dict.fromkeys(OWN, (refused, refused))


async def test_the_certificate_for_kubelets_is_no_credential_at_the_api_server(
    stage: Stage,
) -> None:
    files = stage.server.api.credentials.tls
    assert files is not None
    context = contexts.trusting_context(files.kubelet_client)
    token = {"Authorization": f"Bearer {stage.server.token}"}
    async with httpx.AsyncClient(
        base_url=stage.server.url, verify=context, timeout=60
    ) as kubelets_caller:
        refused = [await kubelets_caller.get(path) for path in ("/api/v1/secrets", "/version")]
        admin = await kubelets_caller.get("/api/v1/secrets", headers=token)

    assert [answer.status_code for answer in refused] == [401, 401]
    assert admin.status_code == 200


async def test_a_node_address_that_is_no_host_is_a_bad_request(
    stage: Stage, http: httpx.AsyncClient
) -> None:
    await stage.pod()
    said = {}
    for host in NO_HOSTS:
        await stage.point_node_to(stage.kubelet.port, host)
        proxied = await http.get(f"{PROXY}/healthz")
        log = await http.get("/api/v1/namespaces/default/pods/web/log")
        said[host] = (status_of(proxied), status_of(log))

    for host, answers in said.items():
        refused = (400, "BadRequest", f'node {NODE} has an invalid address "{host}"')
        assert answers == (refused, refused)


async def test_a_port_that_is_none_is_a_bad_request(stage: Stage, http: httpx.AsyncClient) -> None:
    for port in (-1, 65536):
        await stage.point_node_to(port)
        answer = status_of(await http.get(f"{PROXY}/healthz"))

        assert answer == (400, "BadRequest", f"node {NODE} has an invalid port {port}")


async def test_a_redirect_of_a_kubelet_is_handed_on_and_not_followed(
    stage: Stage, http: httpx.AsyncClient
) -> None:
    files = stage.server.api.credentials.tls
    assert files is not None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.server.certificate, files.server.key)
    location = f"{stage.server.url}/version"

    async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
        writer.write(head.encode())
        await writer.drain()
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    async with await asyncio.start_server(redirect, "127.0.0.1", 0, ssl=context) as elsewhere:
        await stage.point_node_to(elsewhere.sockets[0].getsockname()[1])
        answer = await http.get(f"{PROXY}/pods")

    assert answer.status_code == 302
