"""A webhook decides over real HTTPS; whatever it does wrong, nobody gets in by it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog
import trustme
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proreus.api.wire import json
from proreus.server.authz.authorizer import NO_OPINION, Action, Decision, Verdict
from proreus.server.authz.metrics import WebhookMetrics
from proreus.server.authz.webhook.authorizer import WebhookAuthorizer, WebhookSettings
from proreus.server.authz.webhook.remembered_verdicts import RememberedVerdicts
from proreus.server.authz.webhook.review import review_spec, verdict_of
from proreus.server.offload import INLINE
from proreus.server.prometheus import CollectorRegistry
from proreus.server.registry.user import User
from proreus.server.webhooks.kubeconfig import read_webhook_kubeconfig
from proreus.server.webhooks.review_client import ANSWER_BYTES_MAX, ATTEMPTS
from proreus.testing.virtual_clock import VirtualClock
from tests.ports import dead_port
from tests.samples import sample_value
from tests.unit.server.authz.webhook.webhook_server import (
    TOKEN,
    Json,
    WebhookServer,
    send,
    webhook_server,
)

ANN = User("ann", ("devs",))
GET = Action(user=ANN, verb="get", resource="pods", namespace="n", name="p")


class World:
    def __init__(self, server: WebhookServer, folder: Path) -> None:
        self.server = server
        self.clock = VirtualClock()
        self.registry = CollectorRegistry()
        address = read_webhook_kubeconfig(server.write_kubeconfig(folder / "webhook"))
        # Long enough for any machine: the clock runs ahead while a test waits for an answer.
        self.settings = WebhookSettings(address=address, timeout_s=100_000)
        self.made: list[WebhookAuthorizer] = []

    def authorizer(self, **changes: Any) -> WebhookAuthorizer:
        registry = CollectorRegistry() if self.made else self.registry
        chosen = replace(self.settings, **changes)
        made = WebhookAuthorizer("w", chosen, WebhookMetrics(registry), self.clock, INLINE)
        self.made.append(made)
        return made

    async def ask(self, authorizer: WebhookAuthorizer, action: Action = GET) -> Verdict:
        """Retries wait on the virtual clock, answers come over a real socket."""
        asked = asyncio.ensure_future(decided(authorizer, action))
        while not asked.done():
            await self.clock.advance(0.1)
            await asyncio.wait([asked], timeout=0.001)
        return asked.result()

    def evaluations(self, result: str) -> float:
        name = "apiserver_authorization_webhook_evaluations_total"
        return sample_value(self.registry, name, {"name": "w", "result": result}) or 0


async def decided(authorizer: WebhookAuthorizer, action: Action) -> Verdict:
    found = authorizer.authorize(action)
    return found if isinstance(found, Verdict) else await found


@asynccontextmanager
async def world_in(folder: Path) -> AsyncIterator[World]:
    async with webhook_server() as server:
        world = World(server, folder)
        yield world
        for authorizer in world.made:
            await authorizer.close()


async def test_the_webhook_decides_and_learns_who_asks(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        verdict = await decided(world.authorizer(), GET)

        assert verdict == Verdict(Decision.ALLOW)
        assert world.server.reviews == [
            {
                "kind": "SubjectAccessReview",
                "apiVersion": "authorization.k8s.io/v1",
                "metadata": {},
                "spec": review_spec(GET),
                "status": {"allowed": False},
            }
        ]
        assert world.server.heads[0].startswith("POST /authorize?timeout=27h46m40s HTTP/1.1\r\n")
        assert f"Authorization: Bearer {TOKEN}" in world.server.heads[0]


async def test_an_answer_is_used_again_until_it_is_too_old(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        authorizer = world.authorizer(authorized_ttl_s=60, unauthorized_ttl_s=10)
        other = Action(user=ANN, verb="delete", resource="pods")
        world.server.decide = lambda spec: {"allowed": spec["resourceAttributes"]["verb"] == "get"}
        for action in (GET, other, GET, other):
            await decided(authorizer, action)
        assert len(world.server.reviews) == 2
        assert authorizer.authorize(GET) == Verdict(Decision.ALLOW), "without a wait"

        await world.clock.advance(10)
        await decided(authorizer, GET)
        await decided(authorizer, other)
        assert len(world.server.reviews) == 3

        await world.clock.advance(50)
        await decided(authorizer, GET)
        assert len(world.server.reviews) == 4


async def test_what_must_not_be_remembered_is_asked_each_time(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        without = world.authorizer(authorized_ttl_s=0)
        await decided(without, GET)
        await decided(without, GET)
        huge = Action(user=ANN, verb="get", path="/" + "x" * 20_000)
        usual = world.authorizer()
        await decided(usual, huge)
        await decided(usual, huge)

        assert len(world.server.reviews) == 4


def test_what_was_not_used_for_longest_is_forgotten() -> None:
    remembered = RememberedVerdicts(VirtualClock(), entries_max=2)
    for name in (b"a", b"b"):
        remembered.put(name, NO_OPINION, 10)
    remembered.find(b"a")
    remembered.put(b"c", NO_OPINION, 10)

    assert [remembered.find(name) for name in (b"a", b"b", b"c")] == [NO_OPINION, None, NO_OPINION]


names = st.sampled_from(["", "a", "b"])
actions = st.builds(
    Action,
    user=st.builds(
        User,
        names,
        st.sampled_from([(), ("a",), ("a", "b")]),
        names,
        st.sampled_from([{}, {"a": ("b",)}]),
    ),
    verb=st.sampled_from(["get", "list"]),
    resource=names,
    namespace=names,
    name=names,
    path=st.sampled_from(["", "/a"]),
    label_selector=st.sampled_from(["", "a", "a=b"]),
)


def by_hash(spec: Json) -> Json:
    number = hashlib.sha256(json.encode(spec)).digest()[0]
    statuses: list[Json] = [{"allowed": True}, {"denied": True}, {"reason": "?"}]
    return statuses[number % len(statuses)]


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(asked=st.lists(actions, min_size=20, max_size=40), ages=st.sampled_from([1, 20, 200]))
def test_remembered_decisions_equal_those_of_the_webhook(
    tmp_path: Path, asked: Sequence[Action], ages: int
) -> None:
    async def compare() -> None:
        async with world_in(tmp_path) as world:
            world.server.decide = by_hash
            authorizer = world.authorizer()
            for action in (*asked, *asked):
                assert await decided(authorizer, action) == verdict_of(by_hash(review_spec(action)))
                await world.clock.advance(ages)

    asyncio.run(compare())


# What a webhook does wrong, and how it is reported.


async def cut(writer: asyncio.StreamWriter, _: Json) -> None:
    writer.transport.abort()


async def cut_in_the_middle(writer: asyncio.StreamWriter, _: Json) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
    await writer.drain()
    writer.transport.abort()


async def speak_nonsense(writer: asyncio.StreamWriter, _: Json) -> None:
    writer.write(b"\x00\xff nonsense\r\n\r\n")


async def refuse(writer: asyncio.StreamWriter, _: Json) -> None:
    send(writer, 403, b"go away")


async def fail(writer: asyncio.StreamWriter, _: Json) -> None:
    send(writer, 500, b"broken" * 10_000)


async def be_busy(writer: asyncio.StreamWriter, _: Json) -> None:
    send(writer, 503, b"", "Retry-After: 1")


async def redirect(writer: asyncio.StreamWriter, _: Json) -> None:
    send(writer, 307, b"", "Location: /elsewhere")


async def be_huge(writer: asyncio.StreamWriter, review: Json) -> None:
    send(writer, 200, json.encode({**review, "status": {"allowed": True}, "x": "y" * (2 << 20)}))


async def never_end(writer: asyncio.StreamWriter, _: Json) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not writer.is_closing():
        writer.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
        await writer.drain()
        await asyncio.sleep(0)  # a write to a connection that is gone does not wait


def answering(body: bytes) -> Any:
    async def answer(writer: asyncio.StreamWriter, _: Json) -> None:
        send(writer, 200, body)

    return answer


async def answer_as_another(writer: asyncio.StreamWriter, review: Json) -> None:
    status = {"allowed": True}
    send(writer, 200, json.encode({**review, "kind": "TokenReview", "status": status}))


@pytest.mark.parametrize(
    ("behave", "calls", "message"),
    [
        (cut, ATTEMPTS, "EOF"),
        (cut_in_the_middle, ATTEMPTS, "EOF"),
        (speak_nonsense, 1, 'Post "https://127.0.0.1:'),
        (refuse, 1, "go away"),
        (fail, ATTEMPTS, "an error on the server"),
        (be_busy, ATTEMPTS, "the server is currently unable to handle the request"),
        (redirect, 1, "the server responded with the status code 307 but did not return more"),
        (be_huge, 1, f"the answer has more than {ANSWER_BYTES_MAX} bytes"),
        (never_end, 1, f"the answer has more than {ANSWER_BYTES_MAX} bytes"),
        (answering(b"{"), 1, "the webhook's answer is not JSON"),
        (answering(b"[]"), 1, "the webhook's answer is no object"),
        (answering(b"{}"), 1, "the webhook's answer has another kind"),
        (answer_as_another, 1, "the webhook's answer has another kind"),
    ],
)
async def test_a_webhook_that_does_wrong_lets_nobody_in(
    tmp_path: Path, behave: Any, calls: int, message: str
) -> None:
    async with world_in(tmp_path) as world:
        authorizer = world.authorizer()
        world.server.behave = behave
        with structlog.testing.capture_logs() as logs:
            verdict = await world.ask(authorizer)
            again = await world.ask(authorizer, replaced_name("q"))

        assert verdict.decision is again.decision is Decision.NO_OPINION
        assert message in verdict.error
        assert len(verdict.error) < 3_000
        assert len(world.server.reviews) == 2 * calls
        assert world.evaluations("error") == 2 * calls
        assert [line["event"] for line in logs] == ["authorization webhook failed"]
        assert TOKEN not in f"{verdict} {logs} {authorizer!r} {world.settings!r}"

        world.server.behave = world.server.answer
        assert (await world.ask(authorizer)).decision is Decision.ALLOW


def replaced_name(name: str) -> Action:
    return Action(user=ANN, verb="get", resource="pods", namespace="n", name=name)


async def test_a_webhook_that_fails_may_deny(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        world.server.behave = refuse

        verdict = await world.ask(world.authorizer(on_failure=Decision.DENY))

        assert verdict.decision is Decision.DENY
        assert verdict.error


async def test_a_webhook_that_fails_for_a_moment_is_asked_again(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:

        async def fail_twice(writer: asyncio.StreamWriter, review: Json) -> None:
            is_early = len(world.server.reviews) < 3
            await (cut(writer, review) if is_early else world.server.answer(writer, review))

        world.server.behave = fail_twice

        assert (await world.ask(world.authorizer())).decision is Decision.ALLOW
        assert len(world.server.reviews) == 3


async def test_a_webhook_that_is_slow_is_given_up_in_time(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:

        async def wait(_: asyncio.StreamWriter, __: Json) -> None:
            await asyncio.Event().wait()

        world.server.behave = wait

        verdict = await world.ask(world.authorizer(timeout_s=3))

        assert verdict.error.endswith('?timeout=3s": context deadline exceeded')
        assert world.evaluations("timeout") == 1


async def test_a_question_that_is_given_up_ends_its_call(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        begun = asyncio.Event()

        async def wait(_: asyncio.StreamWriter, __: Json) -> None:
            begun.set()
            await asyncio.Event().wait()

        world.server.behave = wait
        asked = asyncio.ensure_future(decided(world.authorizer(), GET))
        await begun.wait()
        asked.cancel()
        await asyncio.wait([asked])

        assert asked.cancelled()
        assert world.evaluations("canceled") == 1


async def test_a_webhook_of_another_authority_is_not_trusted(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        stranger = world.server.write_kubeconfig(tmp_path / "stranger", ca=trustme.CA())
        address = read_webhook_kubeconfig(stranger)

        verdict = await world.ask(world.authorizer(address=address))

        assert verdict.decision is Decision.NO_OPINION
        assert "x509: certificate signed by unknown authority" in verdict.error
        assert not world.server.reviews


async def test_a_webhook_that_is_not_there_lets_nobody_in(tmp_path: Path) -> None:
    with dead_port() as port:
        world = World(WebhookServer(port), tmp_path)
        authorizer = world.authorizer()

        verdict = await world.ask(authorizer)
        await authorizer.close()

    assert verdict.decision is Decision.NO_OPINION
    assert verdict.error.endswith("connect: connection refused")


async def test_the_number_of_questions_at_once_is_bounded(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        gate, full = asyncio.Event(), asyncio.Event()

        async def hold(writer: asyncio.StreamWriter, review: Json) -> None:
            if world.server.most_at_once == 100:
                full.set()
            await gate.wait()
            await world.server.answer(writer, review)

        world.server.behave = hold
        authorizer = world.authorizer()
        asked = [
            asyncio.ensure_future(decided(authorizer, replaced_name(f"p{number}")))
            for number in range(130)
        ]
        await full.wait()
        gate.set()
        verdicts = await asyncio.gather(*asked)

        assert {verdict.decision for verdict in verdicts} == {Decision.ALLOW}
        assert world.server.most_at_once == 100
