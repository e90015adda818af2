"""The page's way to the API server: as the session's user, streams and WebSockets included."""

from __future__ import annotations

import asyncio
import base64

import aiohttp
import pytest

from proreus.api.wire import json
from proreus.client import Client
from proreus.client.service_account_tokens import request_token
from proreus.testing.granting import Grant
from proreus.testing.server import RunningServer
from tests.dashboard.browser import Browser

CONFIG_MAPS = "/api/api/v1/namespaces/default/configmaps"


def _map(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


@pytest.fixture
async def admin(browser: Browser, server: RunningServer) -> Browser:
    await browser.log_in(server.token)
    return browser


async def test_a_page_reads_and_writes_as_the_sessions_user(admin: Browser) -> None:
    made = await admin.ask("POST", CONFIG_MAPS, {**_map("settings"), "data": {"a": "b"}})
    listed = await admin.ask("GET", CONFIG_MAPS)

    assert made.status == 201
    assert [one["metadata"]["name"] for one in listed.json()["items"]] == ["settings"]
    owned = made.json()["metadata"]["managedFields"]
    assert [one["manager"] for one in owned] == ["proreus-dashboard"]
    assert "sandbox" in listed.headers["Content-Security-Policy"]
    assert listed.headers["Cache-Control"] == "no-store"
    assert "Set-Cookie" not in listed.headers


async def test_nobody_gets_through_without_a_session(browser: Browser) -> None:
    for cookie in ("", "guessed"):
        browser.cookie = cookie
        seen = await browser.ask("GET", CONFIG_MAPS)
        assert seen.status == 401
        assert seen.json()["kind"] == "Status"


async def test_a_token_in_a_header_is_no_session(browser: Browser, server: RunningServer) -> None:
    seen = await browser.ask("GET", CONFIG_MAPS, Authorization=f"Bearer {server.token}")

    assert seen.status == 401


async def test_a_write_that_another_site_makes_the_browser_do_is_refused(admin: Browser) -> None:
    for forged in (
        {"X_CSRF_Token": ""}, {"X_CSRF_Token": "guessed"}, {"Origin": ""},
        {"Origin": "https://evil.example"}, {"Sec_Fetch_Site": "cross-site"},
    ):  # fmt: skip
        assert (await admin.ask("POST", CONFIG_MAPS, _map("forged"), **forged)).status == 403

    assert (await admin.ask("GET", CONFIG_MAPS)).json()["items"] == []


async def test_a_browser_cannot_name_another_user(browser: Browser, client: Client) -> None:
    accounts = client.core_v1.serviceaccounts("default")
    await accounts.create({"metadata": {"name": "visitor"}})
    token = (await request_token(accounts, "visitor", {}))["status"]["token"]
    await browser.log_in(token)

    for claim in (
        {"Authorization": "Bearer another"}, {"X_Remote_User": "admin"},
        {"Impersonate_User": "kubernetes-admin", "Impersonate_Group": "system:masters"},
    ):  # fmt: skip
        seen = await browser.ask("GET", "/api/api/v1/secrets", **claim)
        assert seen.status == 403
        assert "system:serviceaccount:default:visitor" in seen.json()["message"]


async def test_who_has_few_rights_has_no_more_here(
    browser: Browser, client: Client, server: RunningServer
) -> None:
    accounts = client.core_v1.serviceaccounts("default")
    await accounts.create({"metadata": {"name": "reader"}})
    user = "system:serviceaccount:default:reader"
    await server.grant(user, Grant({"configmaps": ["list"]}, namespace="default"))
    await browser.log_in((await request_token(accounts, "reader", {}))["status"]["token"])

    assert (await browser.ask("GET", CONFIG_MAPS)).status == 200
    assert (await browser.ask("POST", CONFIG_MAPS, _map("mine"))).status == 403
    assert (await browser.ask("GET", "/api/api/v1/nodes")).status == 403
    assert (await browser.ask("GET", "/api/metrics")).status == 403


async def test_what_pods_serve_is_not_proxied(admin: Browser) -> None:
    seen = await admin.ask("GET", "/api/api/v1/namespaces/default/pods/web/proxy/")

    assert seen.status == 403
    assert "does not proxy" in seen.json()["message"]


async def test_a_watch_goes_through_as_it_happens(admin: Browser, client: Client) -> None:
    async with asyncio.timeout(60), admin.stream(f"{CONFIG_MAPS}?watch=1") as answer:
        for name in ("first", "second"):
            await client.core_v1.configmaps("default").create(_map(name))
            event = json.decode(await answer.content.readline())
            assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", name)


async def test_a_watch_ends_with_its_session(admin: Browser, client: Client) -> None:
    async with asyncio.timeout(60), admin.stream(f"{CONFIG_MAPS}?watch=1") as answer:
        await client.core_v1.configmaps("default").create(_map("first"))
        await answer.content.readline()

        assert (await admin.ask("POST", "/logout")).status == 204

        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.content.readline()


async def test_a_watch_over_a_websocket_goes_through(admin: Browser, client: Client) -> None:
    async with asyncio.timeout(60), admin.websocket(f"{CONFIG_MAPS}?watch=1") as socket:
        await client.core_v1.configmaps("default").create(_map("first"))
        event = json.decode(await socket.receive_str())

    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "first")


async def test_a_token_among_the_protocols_of_a_websocket_is_not_handed_on(
    browser: Browser, server: RunningServer, client: Client
) -> None:
    accounts = client.core_v1.serviceaccounts("default")
    await accounts.create({"metadata": {"name": "visitor"}})
    await browser.log_in((await request_token(accounts, "visitor", {}))["status"]["token"])
    admins = base64.urlsafe_b64encode(server.token.encode()).decode().rstrip("=")
    protocol = f"base64url.bearer.authorization.k8s.io.{admins}"

    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        async with browser.websocket(f"{CONFIG_MAPS}?watch=1", protocol):
            pass

    assert refused.value.status == 403


async def test_a_websocket_of_another_site_is_refused(admin: Browser) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        async with admin.websocket(f"{CONFIG_MAPS}?watch=1", Origin="https://evil.example"):
            pass

    assert refused.value.status == 403


async def test_a_refused_websocket_is_answered_as_the_api_server_answers(admin: Browser) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        async with admin.websocket("/api/api/v1/namespaces/default/nothing?watch=1"):
            pass

    assert refused.value.status == 404


async def test_a_session_has_a_bounded_number_of_requests_at_once(
    admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proreus.dashboard.forwarding.REQUESTS_MAX", 1)
    async with asyncio.timeout(60), admin.stream(f"{CONFIG_MAPS}?watch=1"):
        refused = await admin.ask("GET", CONFIG_MAPS)

    assert refused.status == 429


async def test_a_long_list_goes_through_whole(admin: Browser, client: Client) -> None:
    maps = client.core_v1.configmaps("default")
    for number in range(3):
        await maps.create({**_map(f"long-{number}"), "data": {"text": "x" * 300_000}})

    items = (await admin.ask("GET", CONFIG_MAPS)).json()["items"]

    assert [len(one["data"]["text"]) for one in items] == [300_000] * 3
