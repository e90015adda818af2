"""Tokens that a webhook knows: asked over real HTTPS, remembered, and refused when it fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from aiohttp import web

from proreus.api.wire import json
from proreus.client.rest.request import RestRequest
from proreus.server.authn.metrics import AuthenticationMetrics
from proreus.server.authn.options import AuthenticationOptions, TokenWebhookOptions
from proreus.server.authn.token_check import Accepted, Rejected
from proreus.server.authn.webhook_tokens import WebhookTokens
from proreus.server.config import ConfigInvalid, ServerConfig
from proreus.server.prometheus import CollectorRegistry
from proreus.server.registry.user import User
from proreus.server.webhooks.kubeconfig import read_webhook_kubeconfig
from proreus.testing.server import running_server
from proreus.testing.virtual_clock import VirtualClock
from tests.https_server import HttpsServer
from tests.samples import sample_value

TOKEN = "a-token-of-jane"
JANE = User("jane", ("dev",), "7", {"example.com/x": ("1",)})
GOOD = {
    "authenticated": True,
    "user": {"username": "jane", "uid": "7", "groups": ["dev"], "extra": {"example.com/x": ["1"]}},
}


class Webhook(HttpsServer):
    """``status`` is what it answers; ``reviews``: what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.status: Any = GOOD
        self.reviews: list[Any] = []
        self.pages["/review"] = self.answer

    async def answer(self, request: web.Request) -> web.StreamResponse:
        review = json.decode(await request.read())
        self.reviews.append(review)
        answer = {"kind": review["kind"], "apiVersion": review["apiVersion"], "status": self.status}
        return web.Response(body=json.encode(answer), content_type="application/json")

    def kubeconfig(self, folder: Path) -> Path:
        (folder / "ca.crt").write_text(self.authority)
        cluster = {"server": f"{self.url}/review", "certificate-authority": "ca.crt"}
        config = {
            "clusters": [{"name": "webhook", "cluster": cluster}],
            "users": [{"name": "server", "user": {"token": "our-own-secret"}}],
            "contexts": [{"name": "it", "context": {"cluster": "webhook", "user": "server"}}],
            "current-context": "it",
        }
        file = folder / "webhook.yaml"
        file.write_bytes(json.encode(config))
        return file


class World:
    def __init__(self, webhook: Webhook, folder: Path) -> None:
        self.webhook = webhook
        self.clock = VirtualClock()
        self.registry = CollectorRegistry()
        file = webhook.kubeconfig(folder)
        self.tokens = WebhookTokens(
            read_webhook_kubeconfig(file),
            TokenWebhookOptions(config_file=file),
            ("here",),
            AuthenticationMetrics(self.registry),
            self.clock,
        )

    async def check(self, token: str = TOKEN, *audiences: str) -> Accepted | Rejected | None:
        """Retries wait in virtual time."""
        checking = asyncio.create_task(self.tokens.check(token, audiences or ("here",)))
        async with asyncio.timeout(60):
            while not checking.done():
                await asyncio.sleep(0.01)
                await self.clock.advance(0.5)
        return checking.result()


@pytest.fixture
async def webhook() -> AsyncIterator[Webhook]:
    async with Webhook().running() as running:
        assert isinstance(running, Webhook)
        yield running


@pytest.fixture
async def world(webhook: Webhook, tmp_path: Path) -> AsyncIterator[World]:
    world = World(webhook, tmp_path)
    yield world
    await world.tokens.close()


async def test_the_webhook_says_whose_a_token_is(world: World) -> None:
    assert await world.check() == Accepted(JANE, ("here",))
    (review,) = world.webhook.reviews
    assert (review["kind"], review["apiVersion"]) == ("TokenReview", "authentication.k8s.io/v1")
    assert review["spec"] == {"token": TOKEN, "audiences": ["here"]}


async def test_answers_count_for_two_minutes_whatever_they_are(world: World) -> None:
    await world.check()
    await world.check()
    world.webhook.status = {"authenticated": False}
    assert await world.check("unknown") is None
    assert await world.check("unknown") is None
    assert len(world.webhook.reviews) == 2

    await world.clock.advance(121)

    assert await world.check() is None  # it has changed its mind
    assert len(world.webhook.reviews) == 3


async def test_an_answer_with_an_error_is_reported_and_not_remembered(world: World) -> None:
    world.webhook.status = {"authenticated": False, "error": "the directory is closed"}

    assert await world.check() == Rejected("the directory is closed")
    assert await world.check() == Rejected("the directory is closed")
    assert len(world.webhook.reviews) == 2


@pytest.mark.parametrize(
    ("said", "wanted", "found"),
    [
        ([], ["here"], ("here",)),
        ([], ["there"], None),
        (["there"], ["there", "here"], ("there",)),
        (["there"], ["here"], None),
    ],
)
async def test_a_token_is_good_for_the_audiences_that_the_webhook_says(
    world: World, said: list[str], wanted: list[str], found: tuple[str, ...] | None
) -> None:
    world.webhook.status = {**GOOD, "audiences": said}

    verdict = await world.check(TOKEN, *wanted)

    assert verdict == (Accepted(JANE, found) if found else None)


@pytest.mark.parametrize(
    "status",
    [
        {"authenticated": True},
        {"authenticated": True, "user": {}},
        {"authenticated": True, "user": {"username": ["jane"]}},
        {"authenticated": True, "user": {"username": "jane", "groups": "system:masters"}},
        {"authenticated": True, "user": {"username": "jane", "extra": {"a": "b"}}},
        {"authenticated": True, "user": {"username": "jane"}, "audiences": "here"},
        "yes",
    ],
)
async def test_an_answer_that_makes_no_sense_lets_nobody_in(world: World, status: Any) -> None:
    world.webhook.status = status

    assert isinstance(await world.check(), Rejected)


async def garbage(request: web.Request) -> web.StreamResponse:
    return web.Response(body=b"\xff{")


async def huge(request: web.Request) -> web.StreamResponse:
    return web.Response(body=b" " * (2 << 20))


async def broken(request: web.Request) -> web.StreamResponse:
    return web.Response(status=500)


async def redirected(request: web.Request) -> web.StreamResponse:
    return web.Response(status=307, headers={"Location": "/elsewhere"})


@pytest.mark.parametrize("page", [garbage, huge, broken, redirected, None])
async def test_a_webhook_that_fails_lets_nobody_in_is_logged_once_and_not_remembered(
    world: World, page: Any
) -> None:
    world.webhook.pages["/elsewhere"] = world.webhook.answer
    world.webhook.pages["/review"] = page or world.webhook.silent

    with structlog.testing.capture_logs() as logs:
        first, second = await world.check(), await world.check()
    world.webhook.pages["/review"] = world.webhook.answer
    after = await world.check()

    assert isinstance(first, Rejected)
    assert isinstance(second, Rejected)
    assert [log["event"] for log in logs] == ["authentication webhook failed"]
    assert TOKEN not in str(logs) + first.why
    assert "our-own-secret" not in str(logs) + first.why
    assert after == Accepted(JANE, ("here",))
    asked = sample_value(world.registry, "apiserver_delegated_authn_request_total", {"code": "200"})
    assert asked == 1


async def test_one_question_answers_all_who_send_the_same_token(world: World) -> None:
    verdicts = await asyncio.gather(*(world.tokens.check(TOKEN, ("here",)) for _ in range(10)))

    assert verdicts == [Accepted(JANE, ("here",))] * 10
    assert len(world.webhook.reviews) == 1


async def test_who_gives_up_does_not_take_the_answer_from_others(world: World) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(request: web.Request) -> web.StreamResponse:
        begun.set()
        await go_on.wait()
        return await world.webhook.answer(request)

    world.webhook.pages["/review"] = slow
    first = asyncio.create_task(world.tokens.check(TOKEN, ("here",)))
    await begun.wait()
    second = asyncio.create_task(world.tokens.check(TOKEN, ("here",)))
    await asyncio.sleep(0)
    first.cancel()
    go_on.set()

    assert await second == Accepted(JANE, ("here",))
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_server_asks_its_webhook_last_and_others_do_not_wait_for_it(
    webhook: Webhook, tmp_path: Path
) -> None:
    options = TokenWebhookOptions(config_file=webhook.kubeconfig(tmp_path))
    config = ServerConfig(authentication=AuthenticationOptions(webhook=options))
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    request = RestRequest("create", "POST", path, body=b"{}")
    async with running_server(config) as server:
        async with server.client() as admin:
            await admin.rest.get_json(request)
            assert webhook.reviews == []
        async with server.client(TOKEN) as jane:
            answer = await jane.rest.get_json(request)

    user = answer["status"]["userInfo"]
    assert (user["username"], user["groups"]) == ("jane", ["dev", "system:authenticated"])


async def test_a_wrong_kubeconfig_is_refused_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "webhook.yaml"
    file.write_text("{}")
    options = TokenWebhookOptions(config_file=file)

    with pytest.raises(ConfigInvalid) as refused:
        async with running_server(
            ServerConfig(authentication=AuthenticationOptions(webhook=options))
        ):
            pass

    why = "current-context: Required value"
    assert str(refused.value) == f"authentication webhook configuration file {file}: {why}"
