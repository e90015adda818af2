"""What a RestClient sends along, and what it makes of answers."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator

import pytest

from proreus.api.status import InternalError, NotFound
from proreus.client.client_config import (
    AuthSettings,
    ClientConfig,
    ConfigError,
    Impersonation,
    TlsSettings,
)
from proreus.client.rest.client import RestClient
from proreus.client.rest.request import RestRequest
from proreus.client.rest.warning import WarnOnce, warnings_in
from tests.unit.client.scripted_server import HastyClock, ScriptedServer, Step, answer

GET = RestRequest("get", "GET", "/api/v1/pods")
LIST = {
    "kind": "PodList",
    "apiVersion": "v1",
    "metadata": {"resourceVersion": "5"},
    "items": [{"metadata": {"name": str(number)}} for number in range(2500)],
}


@contextlib.asynccontextmanager
async def against(
    *steps: Step, **config: object
) -> AsyncIterator[tuple[RestClient, ScriptedServer]]:
    async with ScriptedServer(list(steps), repeats=True).running() as server:
        settings = ClientConfig(server.url, **config)  # type: ignore[arg-type]
        async with RestClient(settings, clock=HastyClock()) as rest:
            yield rest, server


async def test_every_request_says_who_we_are_and_what_we_take() -> None:
    async with against(answer(200, b"{}"), user_agent="tester/1") as (rest, server):
        await rest.send(GET)
        await rest.send(RestRequest("create", "POST", "/x", body=b"{}"))

    get, post = server.requests
    assert get.headers["user-agent"] == "tester/1"
    assert get.headers["accept"] == "application/json"
    assert "content-type" not in get.headers
    assert post.headers["content-type"] == "application/json"


async def test_the_default_user_agent_names_the_program() -> None:
    async with against(answer(200, b"{}")) as (rest, server):
        await rest.send(GET)

    assert "proreus/" in server.requests[0].headers["user-agent"]


async def test_a_path_in_the_address_is_a_prefix_of_everything() -> None:
    async with against(answer(200, b"{}")) as (_, server):
        config = ClientConfig(f"{server.url}/k8s/clusters/c1/?x=1#y")
        async with RestClient(config, clock=HastyClock()) as rest:
            await rest.send(GET)

    assert server.requests[0].target == "/k8s/clusters/c1/api/v1/pods"


async def test_over_plain_http_no_credential_leaves_but_impersonation_does() -> None:
    who = Impersonation("jane", "u1", ("a", "b"), {"example.org/x%y": ("1", "2")})
    auth = AuthSettings(token="secret")
    async with against(answer(200, b"{}"), auth=auth, impersonate=who) as (rest, server):
        await rest.send(GET)

    sent = server.requests[0].all_headers
    assert "authorization" not in dict(sent)
    assert [pair for pair in sent if pair[0].startswith("impersonate")] == [
        ("impersonate-user", "jane"),
        ("impersonate-uid", "u1"),
        ("impersonate-group", "a"),
        ("impersonate-group", "b"),
        ("impersonate-extra-example.org%2fx%25y", "1"),
        ("impersonate-extra-example.org%2fx%25y", "2"),
    ]


async def test_a_large_list_is_decoded_whole() -> None:
    async with against(answer(200, LIST)) as (rest, _):
        found = await rest.get_list(GET)

    assert len(found) == 2500
    assert found.items[-1].kind == "Pod"


async def test_connections_are_kept_and_reused() -> None:
    async with against(answer(200, b"{}")) as (rest, server):
        for _ in range(3):
            await rest.send(GET)

        assert server.connections == 1


@pytest.mark.parametrize("body", [b"", b"[]", b"not json"])
async def test_a_success_without_an_object_is_the_servers_failure(body: bytes) -> None:
    async with against(answer(200, body)) as (rest, _):
        with pytest.raises(InternalError):
            await rest.get_object(GET)
        with pytest.raises(InternalError):
            await rest.get_list(GET)


async def test_a_success_that_holds_a_failure_is_one() -> None:
    hidden = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404}
    async with against(answer(200, hidden)) as (rest, _):
        with pytest.raises(NotFound):
            await rest.get_object(GET)
        with pytest.raises(NotFound):
            await rest.get_list(GET)


async def test_warnings_reach_the_handler_on_success_and_on_failure() -> None:
    seen: list[str] = []
    said = '299 - "old \\"version\\"", 299 - "unknown field", 199 - "other"'
    async with ScriptedServer(
        [answer(200, b"{}", Warning=said), answer(404, Warning=said)]
    ).running() as server:
        config = ClientConfig(server.url)
        async with RestClient(config, clock=HastyClock(), on_warning=seen.append) as rest:
            await rest.send(GET)
            with pytest.raises(NotFound):
                await rest.send(GET)

    assert seen == ['old "version"', "unknown field"] * 2


async def test_warnings_are_logged_by_default(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with against(answer(200, b"{}", Warning='299 - "old"')) as (rest, _):
            await rest.send(GET)

    assert "server: old" in caplog.text


def test_a_warning_can_be_said_once() -> None:
    seen: list[str] = []
    once = WarnOnce(seen.append)

    for text in warnings_in(['299 - "a"', '299 - "a"', '299 agent "b" "date"', "nonsense"]):
        once(text)

    assert seen == ["a", "b"]


async def test_a_closed_client_says_so() -> None:
    async with against(answer(200, b"{}")) as (rest, _):
        pass
    with pytest.raises(RuntimeError, match="closed"):
        await rest.send(GET)


async def test_an_address_that_makes_no_sense_is_refused_before_anything_is_sent() -> None:
    for host in ("ftp://x", "host/path", "https://"):
        with pytest.raises(ConfigError, match="server"):
            RestClient(ClientConfig(host))
    assert RestClient(ClientConfig("h:1")).config.host == "http://h:1"
    tls = TlsSettings(insecure=True)
    assert RestClient(ClientConfig("h", tls=tls)).config.host == "https://h"
    with pytest.raises(ConfigError, match="proxies"):
        RestClient(ClientConfig("https://h", proxy_url="socks5://p:1"))
