"""Another API server that fails, lies or hangs: an answer with a cause, and nobody else waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from urllib.parse import urlsplit

import httpx
import pytest
import trustme

from proreus.testing.server import RunningServer, running_server
from tests.aggregation.raw_backend import Asked, RawBackend
from tests.aggregation.world import (
    APISERVICES,
    NAME,
    ROOT,
    SERVICES,
    WIDGETS,
    add_external,
    api_service,
    asking,
    made,
    port_of,
    until,
    until_reason,
)
from tests.closing import all_closed
from tests.ports import reserved_port

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@pytest.fixture
async def front() -> AsyncIterator[RunningServer]:
    async with running_server() as running:
        yield running
    await all_closed()


@pytest.fixture
async def client(front: RunningServer) -> AsyncIterator[httpx.AsyncClient]:
    async with asking(front) as asked:
        await add_external(asked)
        yield asked


async def register(client: httpx.AsyncClient, backend: RawBackend) -> None:
    authority = backend.authority.cert_pem.bytes()
    await made(client, APISERVICES, api_service(authority, port=backend.port))
    await until_reason(client, "Passed")


async def check_now(client: httpx.AsyncClient) -> None:
    """A change of the service is a reason to look again."""
    patch = {"metadata": {"annotations": {"look": "now"}}}
    answer = await client.patch(
        f"{SERVICES}/widgets",
        json=patch,
        headers={"Content-Type": "application/merge-patch+json"},
    )
    assert answer.status_code == 200


@pytest.fixture
def port() -> Iterator[int]:
    with reserved_port() as reserved:
        yield reserved


async def test_a_server_that_dies_is_unavailable_until_it_is_back(
    client: httpx.AsyncClient, port: int
) -> None:
    backend = RawBackend()

    @backend.then
    async def answer(asked: Asked) -> None:
        await asked.answer("200 OK", "here")

    async with backend.running(port):
        await register(client, backend)
        assert (await client.get(f"{WIDGETS}/one")).text == "here"
    at_once = await client.get(f"{WIDGETS}/one")
    await check_now(client)
    why = await until_reason(client, "FailedDiscoveryCheck")
    unavailable = await client.get(f"{WIDGETS}/one")
    metrics = (await client.get("/metrics")).text
    async with backend.running(port):
        await until_reason(client, "Passed")
        again = await until(client, f"{WIDGETS}/one", lambda a: a.status_code == 200)

    refused = f"dial tcp widgets.default.svc:{port}: connect: connection refused"
    assert (at_once.status_code, at_once.text) == (
        503,
        f"error trying to reach service: {refused}\n",
    )
    assert why["message"].startswith("failing or missing response from https://localhost:")
    assert why["message"].endswith("connect: connection refused")
    assert (unavailable.status_code, unavailable.text) == (503, "service unavailable\n")
    assert f'aggregator_unavailable_apiservice{{name="{NAME}"}} 1\n' in metrics
    counted = (
        f'aggregator_unavailable_apiservice_total{{name="{NAME}",reason="FailedDiscoveryCheck"}}'
    )
    assert f"{counted} 1\n" in metrics
    assert again.text == "here"


async def test_a_certificate_of_another_authority_is_not_accepted(
    client: httpx.AsyncClient,
) -> None:
    """The check does not look at it, as in Kubernetes; requests and discovery do."""
    async with RawBackend().running() as backend:
        backend.then(lambda asked: asked.answer("200 OK"))
        other = trustme.CA().cert_pem.bytes()
        await made(client, APISERVICES, api_service(other, port=backend.port))
        await until_reason(client, "Passed")

        answered = await client.get(f"{WIDGETS}/one")
        upgraded = await client.post(
            f"{WIDGETS}/one/exec", headers={"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
        )

    unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    for one in (answered, upgraded):
        assert (one.status_code, one.text) == (503, f"error trying to reach service: {unknown}\n")
    assert backend.asked == []


async def test_authorities_that_are_none_are_said_to_be_none(client: httpx.AsyncClient) -> None:
    async with RawBackend().running() as backend:
        await made(client, APISERVICES, api_service(b"no PEM", port=backend.port))
        await until_reason(client, "Passed")

        answered = await client.get(f"{WIDGETS}/one")

    assert answered.status_code == 500
    assert answered.text.startswith("unable to load root certificates")


async def garbage(asked: Asked) -> None:
    await asked.say("this is no HTTP\r\n\r\n")
    raise ConnectionResetError


async def cut_off(asked: Asked) -> None:
    raise ConnectionResetError


async def long_head(asked: Asked) -> None:
    await asked.say("HTTP/1.1 200 OK\r\nX: " + "x" * 200_000 + "\r\n\r\n")
    raise ConnectionResetError


async def short_body(asked: Asked) -> None:
    await asked.say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
    raise ConnectionResetError


@pytest.mark.parametrize("fault", [garbage, cut_off, long_head, short_body])
@pytest.mark.parametrize("kind", ["plain", "upgrade"])
async def test_an_answer_that_is_none_has_a_cause(
    client: httpx.AsyncClient, fault: Callable[[Asked], Awaitable[None]], kind: str
) -> None:
    async with RawBackend().running() as backend:
        backend.then(fault)
        await register(client, backend)
        headers = {"Connection": "Upgrade", "Upgrade": "a/1"} if kind == "upgrade" else {}

        answered = await client.get(f"{WIDGETS}/one", headers=headers)

        assert answered.status_code == 503
        assert answered.text.startswith("error trying to reach service: ")
        assert (await client.get("/livez")).status_code == 200


async def test_a_long_answer_that_breaks_off_breaks_off(client: httpx.AsyncClient) -> None:
    async with RawBackend().running() as backend:

        @backend.then
        async def answer(asked: Asked) -> None:
            await asked.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
            raise ConnectionResetError

        await register(client, backend)

        with pytest.raises(httpx.RemoteProtocolError):
            await client.get(f"{WIDGETS}/one")


async def test_one_that_hangs_holds_up_nobody_and_the_request_ends_in_time(
    client: httpx.AsyncClient,
) -> None:
    async with RawBackend().running() as backend:
        hanging = asyncio.Event()

        @backend.then
        async def answer(asked: Asked) -> None:
            hanging.set()
            await asyncio.Event().wait()

        await register(client, backend)
        asked = asyncio.create_task(client.get(f"{WIDGETS}/one?timeout=1s"))
        async with asyncio.timeout(60):
            await hanging.wait()

        others = await client.get("/api/v1/namespaces/default")
        late = await asked

    assert others.status_code == 200
    assert (late.status_code, late.json()["reason"]) == (504, "Timeout")


async def test_who_does_not_read_holds_the_other_server_and_no_memory(
    front: RunningServer, client: httpx.AsyncClient
) -> None:
    """An answer without an end is sent as fast as it is read, and not faster."""
    sent = 0
    stalled = asyncio.Event()
    async with RawBackend().running() as backend:

        @backend.then
        async def answer(asked: Asked) -> None:
            nonlocal sent
            await asked.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
            while True:
                try:
                    async with asyncio.timeout(2):
                        await asked.say(piece)
                except TimeoutError:
                    stalled.set()
                    raise ConnectionResetError from None
                sent += len(piece)

        await register(client, backend)
        place = urlsplit(front.url)
        _, writer = await asyncio.open_connection(place.hostname, place.port, limit=1024)
        path = f"{WIDGETS}?watch=true"
        token = f"Authorization: Bearer {front.token}"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: a\r\n{token}\r\n\r\n".encode())
        async with asyncio.timeout(60):
            await stalled.wait()
        alive = await client.get("/api/v1/namespaces/default")
        writer.transport.abort()

    assert alive.status_code == 200
    assert 0 < sent < 32 * 1024 * 1024


@pytest.mark.parametrize(
    "document",
    ["no JSON", "[]", '{"kind":"APIResourceList","resources":[1,{"name":2},{"name":"a/b"}]}'],
)
async def test_discovery_that_is_garbage_does_no_harm(
    client: httpx.AsyncClient, document: str
) -> None:
    async with RawBackend().running() as backend:
        backend.discovery = document
        backend.then(lambda asked: asked.answer("200 OK", "here"))
        await register(client, backend)

        found = await client.get("/apis", headers={"Accept": AGGREGATED})

        groups = {group["metadata"]["name"]: group for group in found.json()["items"]}
        (version,) = groups["example.com"]["versions"]
        assert "resources" not in version
        assert (await client.get(f"{WIDGETS}/one")).text == "here"


async def test_a_service_that_leads_back_here_is_not_called(
    front: RunningServer, client: httpx.AsyncClient
) -> None:
    await made(client, APISERVICES, api_service(None, port=port_of(front)))

    found = await until_reason(client, "FailedDiscoveryCheck")

    assert found["message"].endswith("address not allowed")
    assert (await client.get(ROOT)).status_code == 503
