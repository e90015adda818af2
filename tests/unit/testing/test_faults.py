"""Faults as verbs: each strikes whom it names, as often as it says, and ends when told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from proreus.aio.tasks import background
from proreus.client import (
    Client,
    Conflict,
    Expired,
    NotFound,
    SharedInformerFactory,
    Timeout,
    TooManyRequests,
)
from proreus.client.rest.retry import RetryPolicy
from proreus.net.client.transport_error import TransportError
from proreus.net.http1.messages import Answer
from proreus.testing.delivery import Delivery, SentEvent
from proreus.testing.interception import BreakConnection, Proceed
from proreus.testing.requests import RecordedRequest
from proreus.testing.server import RunningServer, running_server
from proreus.testing.virtual_clock import VirtualClock

_ONCE = RetryPolicy(retries_max=0)


@pytest.fixture
async def server() -> AsyncIterator[RunningServer]:
    async with running_server(clock=VirtualClock()) as running:
        yield running


@pytest.fixture
async def client(server: RunningServer) -> AsyncIterator[Client]:
    async with server.client(user_agent="tester/1.0", retry=_ONCE) as connected:
        yield connected


def _map(name: str, **data: str) -> dict[str, object]:
    return {"metadata": {"name": name}, "data": data}


async def test_a_request_fails_as_often_as_the_fault_says(
    server: RunningServer, client: Client
) -> None:
    maps = client.core_v1.configmaps("default")
    await maps.create(_map("a"))
    fault = server.fail("PATCH", "configmaps", Conflict, times=1)

    with pytest.raises(Conflict):
        await maps.patch("a", {"data": {"k": "1"}})
    patched = await maps.patch("a", {"data": {"k": "2"}})

    assert patched["data"]["k"] == "2"
    assert [asked.name for asked in fault.struck] == ["a"]


async def test_what_was_applied_is_there_although_its_answer_was_lost(
    server: RunningServer, client: Client
) -> None:
    maps = client.core_v1.configmaps("default")
    with server.fail("create", "configmaps", Timeout, applied=True), pytest.raises(Timeout):
        await maps.create(_map("a"))

    assert (await maps.get("a")).name == "a"


async def test_a_connection_can_be_broken_instead_of_answered(
    server: RunningServer, client: Client
) -> None:
    maps = client.core_v1.configmaps("default")
    with (
        server.fail("create", "configmaps", BreakConnection),
        pytest.raises(TransportError),
    ):
        await maps.create(_map("a"))

    with pytest.raises(NotFound):
        await maps.get("a")
    assert server.requests.of("create", "configmaps")[0].status == 0


async def test_only_whom_it_names_is_struck(server: RunningServer, client: Client) -> None:
    await client.core_v1.configmaps("default").create(_map("a"))
    server.fail("get", "configmaps", Conflict, user_agent="operator")
    server.fail("get", "configmaps", Timeout, user="ann")

    async with (
        server.client(user_agent="operator/2 (linux)", retry=_ONCE) as operator,
        server.client_as("ann", role="view", retry=_ONCE) as ann,
    ):
        with pytest.raises(Conflict):
            await operator.core_v1.configmaps("default").get("a")
        with pytest.raises(Timeout):
            await ann.core_v1.configmaps("default").get("a")
    assert (await client.core_v1.configmaps("default").get("a")).name == "a"


async def test_a_subresource_is_not_meant_unless_it_is_named(
    server: RunningServer, client: Client
) -> None:
    spaces = client.core_v1.namespaces
    server.fail("update", "namespaces/status", Conflict)
    found = await spaces.get("default")

    await spaces.replace(found)
    with pytest.raises(Conflict):
        await spaces.replace(found, subresource="status")


async def test_a_delayed_request_takes_its_time_on_the_clock(
    server: RunningServer, client: Client
) -> None:
    server.delay("list", "configmaps", "10s")

    async with asyncio.TaskGroup() as both:
        listing = both.create_task(client.core_v1.configmaps("default").list())
        await server.advance("9s")
        was_done = listing.done()
        await server.advance("2s")

    assert not was_done
    assert listing.result() is not None


async def test_who_is_throttled_learns_when_to_come_back(
    server: RunningServer, client: Client
) -> None:
    server.throttle("get", "configmaps", retry_after_s=7)

    with pytest.raises(TooManyRequests) as refused:
        await client.core_v1.configmaps("default").get("a")

    assert refused.value.retry_after_s == 7


async def test_half_an_answer_is_no_answer(server: RunningServer, client: Client) -> None:
    await client.core_v1.configmaps("default").create(_map("a"))
    server.partial_response("get", "configmaps")

    with pytest.raises(TransportError):
        await client.core_v1.configmaps("default").get("a")
    assert (await client.core_v1.configmaps("default").get("a")).name == "a"


async def test_an_expired_watch_gets_410_and_so_does_who_resumes(
    server: RunningServer, client: Client
) -> None:
    maps = client.core_v1.configmaps("default")
    before = await maps.list()
    await maps.create(_map("a"))
    newest = await maps.list()
    async with maps.watch(resource_version=newest.resource_version) as events:
        count = server.expire_watches("configmaps")
        with pytest.raises(Expired):
            await anext(aiter(events))

    assert count == 1
    with pytest.raises(Expired):
        async with maps.watch(resource_version=before.resource_version) as events:
            await anext(aiter(events))


async def test_an_informer_comes_through_an_expired_watch(
    server: RunningServer, client: Client
) -> None:
    maps = client.core_v1.configmaps("default")
    async with SharedInformerFactory(client, clock=server.clock) as informers:
        informer = informers.informer("configmaps", namespace="default")
        informers.start()
        await server.settle()
        server.expire_watches()
        await maps.create(_map("a"))
        await server.settle(horizon="1m")

        assert informer.lister.get("a", "default").name == "a"
        assert informer.status().relists == 1


async def test_a_frozen_watch_shows_an_old_view_until_it_thaws(
    server: RunningServer, client: Client
) -> None:
    maps = client.core_v1.configmaps("default")
    async with SharedInformerFactory(client, clock=server.clock) as informers:
        informer = informers.informer("configmaps", namespace="default")
        informers.start()
        await server.settle()
        with server.freeze_watch("configmaps", user_agent="tester"):
            await maps.create(_map("a"))
            await server.settle()
            frozen = informer.lister.find("a", "default")
        await server.settle()

        assert frozen is None
        assert informer.lister.find("a", "default") is not None


async def test_a_dropped_event_is_never_seen(server: RunningServer, client: Client) -> None:
    maps = client.core_v1.configmaps("default")
    listed = await maps.list()
    server.drop_watch_events("configmaps", name="b", types=("ADDED",))
    seen = []
    async with maps.watch(resource_version=listed.resource_version) as events:
        for name in ("a", "b", "c"):
            await maps.create(_map(name))
        await maps.delete("b")
        async for event in events:
            seen.append((event.type, event.object.name))
            if event.type == "DELETED":
                break

    assert seen == [("ADDED", "a"), ("ADDED", "c"), ("DELETED", "b")]


async def test_events_can_be_repeated_put_off_and_replaced(
    server: RunningServer, client: Client
) -> None:
    maps = client.core_v1.configmaps("default")
    listed = await maps.list()

    def decide(asked: RecordedRequest, event: SentEvent) -> Delivery | bytes:
        match event.name:
            case "twice":
                return Delivery.REPEAT
            case "later":
                return Delivery.AFTER_NEXT
            case "other":
                return event.line.replace(b'"other"', b'"changed"')
        return Delivery.PASS

    stop = server.on_watch_event(decide)
    seen: list[str] = []
    async with maps.watch(resource_version=listed.resource_version) as events:
        for name in ("twice", "later", "next", "other", "last"):
            await maps.create(_map(name))
            await server.settle()
        async for event in events:
            seen.append(event.object.name)
            if seen[-1] == "last":
                break
    stop()

    assert seen == ["twice", "twice", "next", "later", "changed", "last"]


@pytest.mark.parametrize("verdict", [Delivery.EXPIRE, Delivery.EXPIRE_AFTER])
async def test_a_hook_can_let_a_watch_expire_before_or_after_an_event(
    server: RunningServer, client: Client, verdict: Delivery
) -> None:
    maps = client.core_v1.configmaps("default")
    listed = await maps.list()

    def decide(asked: RecordedRequest, event: SentEvent) -> Delivery:
        return {"held": Delivery.HOLD, "last": verdict}.get(event.name, Delivery.PASS)

    server.on_watch_event(decide)
    seen: list[str] = []
    names = ("first", "held", "last") if verdict is Delivery.EXPIRE else ("first", "last")
    async with maps.watch(resource_version=listed.resource_version) as events:
        for name in (*names, "never"):
            await maps.create(_map(name))
        with pytest.raises(Expired):
            async for event in events:
                seen.append(event.object.name)

    assert seen == (["first"] if verdict is Delivery.EXPIRE else ["first", "last"])


async def test_stale_reads_show_the_past_to_who_takes_any_version(
    server: RunningServer, client: Client
) -> None:
    maps = client.core_v1.configmaps("default")
    await maps.create(_map("old"))
    stale = server.stale_reads("configmaps", user_agent="tester")
    await maps.create(_map("new"))

    past = await maps.list(resource_version="0")
    present = await maps.list()
    async with server.client(user_agent="other") as other:
        others = await other.core_v1.configmaps("default").list(resource_version="0")

    assert [one.name for one in past] == ["old"]
    assert [one.name for one in present] == [one.name for one in others] == ["new", "old"]
    assert [asked.as_of for asked in stale.struck] == [int(past.resource_version)]


async def test_an_informer_on_a_stale_server_catches_up_when_the_server_does(
    server: RunningServer, client: Client
) -> None:
    maps = client.core_v1.configmaps("default")
    stale = server.stale_reads(user_agent="tester")
    await maps.create(_map("new"))
    async with SharedInformerFactory(client, clock=server.clock) as informers:
        informer = informers.informer("configmaps", namespace="default")
        informers.start()
        await server.settle()
        before = informer.lister.find("new", "default")
        stale.stop()
        await server.settle()

        assert before is None
        assert informer.lister.find("new", "default") is not None


async def test_a_hook_knows_what_is_to_be_written_before_it_is(
    server: RunningServer, client: Client
) -> None:
    sent: list[object] = []

    async def look(asked: RecordedRequest, proceed: Proceed) -> Answer:
        sent.append(asked.object)
        return await proceed()

    server.intercept(look)
    made = await client.core_v1.configmaps("default").create(_map("a", k="v" * 200_000))

    assert made["data"]["k"] == "v" * 200_000
    assert [one["metadata"]["name"] for one in sent if isinstance(one, dict)] == ["a"]


async def test_a_restarted_server_has_its_address_its_data_and_its_users(
    server: RunningServer, client: Client
) -> None:
    maps = client.core_v1.configmaps("default")
    made = await maps.create(_map("a"))
    url = server.url

    await server.restart()

    assert server.url == url
    async with server.client() as again:
        assert await again.core_v1.configmaps("default").get("a") == made


async def test_a_killed_server_refuses_until_it_is_started(
    server: RunningServer, client: Client
) -> None:
    maps = client.core_v1.configmaps("default")
    await maps.create(_map("a"))

    await server.kill()
    with pytest.raises(TransportError):
        await maps.get("a")
    await server.start()

    assert (await maps.get("a")).name == "a"


async def test_an_informer_lives_through_a_crash_of_the_server() -> None:
    async with (
        running_server() as server,
        server.client() as client,
        SharedInformerFactory(client) as informers,
    ):
        informer = informers.informer("configmaps", namespace="default")
        informers.start()
        await informers.wait_for_cache_sync()
        await server.kill()
        await server.start()
        async with server.client() as other:
            await other.core_v1.configmaps("default").create(_map("a"))
            await informer.wait_current(timeout_s=60)

        assert informer.lister.find("a", "default") is not None


async def test_a_proxy_stands_between_a_client_and_the_server(server: RunningServer) -> None:
    async with server.proxy() as proxy, server.client(through=proxy, retry=_ONCE) as client:
        await client.core_v1.namespaces.get("default")
        await proxy.refuse()
        proxy.cut()
        with pytest.raises(TransportError):
            await client.core_v1.namespaces.get("default")


async def test_latency_of_the_proxy_passes_on_the_clock(server: RunningServer) -> None:
    async with server.proxy() as proxy, server.client(through=proxy) as client:
        proxy.latency("5s")

        async def ask() -> None:
            await client.core_v1.namespaces.get("default")

        async with background(_ended(ask())) as _:
            await server.advance("4s")
            early = len(server.requests.of("get", "namespaces").answered(200))
            await server.advance("2s")

    assert early == 1  # the server has answered; the answer is on its way


async def _ended(work: object) -> None:
    await work  # type: ignore[misc]  # a coroutine
    await asyncio.Event().wait()


async def test_heal_ends_all_faults(server: RunningServer, client: Client) -> None:
    server.fail("get", "*", Conflict)
    server.freeze_watch("*")

    server.heal()

    assert (await client.core_v1.namespaces.get("default")).name == "default"
