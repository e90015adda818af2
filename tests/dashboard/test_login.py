"""Logging in by token and by link, sessions, and who is turned away."""

from __future__ import annotations

import asyncio
import logging

import aiohttp
import pytest

from proreus.client import Client
from proreus.client.service_account_tokens import request_token
from proreus.dashboard.login_codes import LASTS_S
from proreus.dashboard.sessions import IDLE_S, LONGEST_S
from proreus.testing.server import RunningServer, running_server
from proreus.testing.virtual_clock import VirtualClock
from tests.dashboard.browser import Browser, browsing


async def test_everybody_gets_the_page_with_a_strict_content_security_policy(
    browser: Browser,
) -> None:
    page = await browser.ask("GET", "/", Origin="")

    assert page.status == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert page.headers["X-Frame-Options"] == "DENY"
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert (await browser.ask("GET", "/", If_None_Match=page.headers["ETag"])).status == 304
    assert (await browser.ask("GET", "")).headers["Location"] == "/dashboard/"
    assert (await browser.ask("GET", "/no-such-page")).status == 404
    assert (await browser.ask("POST", "/")).status == 405


async def test_a_token_begins_a_session_of_its_owner(
    browser: Browser, server: RunningServer
) -> None:
    await browser.log_in(server.token)

    session = (await browser.ask("GET", "/session")).json()

    assert session["username"] == "kubernetes-admin"
    assert "system:masters" in session["groups"]
    assert session["csrfToken"]


async def test_the_cookie_is_kept_from_scripts_and_from_other_sites(
    browser: Browser, server: RunningServer
) -> None:
    seen = await browser.ask("POST", "/login", {"token": server.token})

    _, *options = seen.headers["Set-Cookie"].split("; ")
    assert set(options) == {"HttpOnly", "Secure", "SameSite=Strict", "Path=/dashboard/"}
    assert server.token not in str(seen)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"token": "no such token"}, 401),
        ({"token": "abc"}, 401),
        ({"token": ""}, 401),
        ({"token": "a\nb"}, 401),
        ({"token": 1}, 400),
        ({}, 400),
        ([], 400),
        ({"token": "x" * 100_000}, 413),
    ],
)
async def test_who_is_not_accepted_gets_a_status_and_no_session(
    browser: Browser, body: object, status: int
) -> None:
    seen = await browser.ask("POST", "/login", body)

    assert seen.status == status
    assert seen.json()["kind"] == "Status"
    assert "Set-Cookie" not in seen.headers


async def test_another_site_cannot_log_a_browser_in(
    browser: Browser, server: RunningServer
) -> None:
    login = {"token": server.token}

    for origin in ("https://evil.example", "null", ""):
        assert (await browser.ask("POST", "/login", login, Origin=origin)).status == 403
    plain = await browser.ask("POST", "/login", login, Content_Type="text/plain")
    assert plain.status == 415


async def test_a_link_logs_in_once(browser: Browser, server: RunningServer) -> None:
    link = (await browser.dashboard.login_path(server.token)).removeprefix("/dashboard")

    seen = await browser.ask("GET", link, Origin="")
    again = await browser.ask("GET", link, Origin="")

    assert (seen.status, seen.headers["Location"]) == (303, "/dashboard/")
    browser.keep_cookie(seen)
    assert (await browser.ask("GET", "/session")).json()["username"] == "kubernetes-admin"
    assert again.status == 401
    assert b"used up" in again.body
    assert "Set-Cookie" not in again.headers


async def test_looking_at_a_link_does_not_use_it_up(
    browser: Browser, server: RunningServer
) -> None:
    link = (await browser.dashboard.login_path(server.token)).removeprefix("/dashboard")

    assert (await browser.ask("HEAD", link)).status == 405
    assert (await browser.ask("GET", link)).status == 303


async def test_a_program_with_a_token_gets_a_link_and_a_browser_with_a_cookie_does_not(
    browser: Browser, server: RunningServer
) -> None:
    made = await browser.ask(
        "POST", "/login-links", Authorization=f"Bearer {server.token}", Origin=""
    )
    wrong = await browser.ask("POST", "/login-links", Authorization="Bearer guessed")
    await browser.log_in(server.token)
    of_cookie = await browser.ask("POST", "/login-links")

    assert (made.status, wrong.status, of_cookie.status) == (201, 401, 401)
    link = made.json()["path"].removeprefix("/dashboard")
    assert (await browser.ask("GET", link, Cookie="")).status == 303


async def test_a_link_and_an_unused_session_end_with_time() -> None:
    clock = VirtualClock()
    async with running_server() as server, browsing(server, clock) as browser:
        link = (await browser.dashboard.login_path(server.token)).removeprefix("/dashboard")
        await browser.log_in(server.token)
        await clock.advance(LASTS_S)
        assert (await browser.ask("GET", link, Cookie="")).status == 401
        assert (await browser.ask("GET", "/session")).status == 200

        await clock.advance(IDLE_S)

        assert (await browser.ask("GET", "/session")).status == 401
        assert (await browser.ask("GET", "/api/api/v1/pods")).status == 401


async def test_a_session_ends_after_its_longest_time_with_the_watch_that_it_has_open() -> None:
    clock = VirtualClock()
    async with running_server() as server, browsing(server, clock) as browser:
        await browser.log_in(server.token)
        watch = "/api/api/v1/namespaces?watch=1"
        async with asyncio.timeout(60), browser.stream(watch) as answer:
            await answer.content.readline()

            await clock.advance(LONGEST_S - IDLE_S)
            assert (await browser.ask("GET", "/session")).status == 200
            await clock.advance(IDLE_S)

            with pytest.raises(aiohttp.ClientPayloadError):
                await answer.content.read()
            assert (await browser.ask("GET", "/session")).status == 401


async def test_who_logs_out_is_out(browser: Browser, server: RunningServer) -> None:
    await browser.log_in(server.token)

    assert (await browser.ask("POST", "/logout", X_CSRF_Token="")).status == 403
    assert (await browser.ask("POST", "/logout", Origin="https://evil.example")).status == 403
    seen = await browser.ask("POST", "/logout")

    assert seen.status == 204
    assert "Max-Age=0" in seen.headers["Set-Cookie"]
    assert (await browser.ask("GET", "/session")).status == 401


async def test_a_new_login_ends_the_old_session(browser: Browser, server: RunningServer) -> None:
    await browser.log_in(server.token)
    old = browser.cookie

    await browser.log_in(server.token)

    assert browser.cookie != old
    browser.cookie = old
    assert (await browser.ask("GET", "/session")).status == 401


async def test_a_session_ends_when_its_token_is_taken_back(
    browser: Browser, client: Client
) -> None:
    accounts = client.core_v1.serviceaccounts("default")
    await accounts.create({"metadata": {"name": "visitor"}})
    token = (await request_token(accounts, "visitor", {}))["status"]["token"]
    await browser.log_in(token)
    assert (await browser.ask("GET", "/session")).json()["username"].endswith(":visitor")

    await accounts.delete("visitor")

    assert (await browser.ask("GET", "/api/api/v1/namespaces")).status == 401
    assert (await browser.ask("GET", "/session")).status == 401


async def test_no_token_is_logged(
    browser: Browser, server: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    link = await browser.dashboard.login_path(server.token)
    await browser.log_in(server.token)
    await browser.ask("GET", link.removeprefix("/dashboard"))
    await browser.ask("POST", "/login", {"token": "guessed-secret"})

    for secret in (server.token, browser.cookie, browser.csrf, link, "guessed-secret"):
        assert secret not in caplog.text
        assert secret not in repr(browser.dashboard)
