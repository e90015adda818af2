"""Waiting for a condition survives what happens to watches."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.client import Client, ClientConfig, ConditionNotMet, Forbidden, InvalidRequest
from proreus.client.resources.waiting import condition_from, has_condition
from proreus.testing.virtual_clock import VirtualClock
from tests.unit.client import scripted_server as scripted
from tests.unit.client.resources.scripted_client import GONE, against, line


def pod(ready: str = "False", version: str = "1", **more: Any) -> dict[str, Any]:
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p", "resourceVersion": version, **more},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def listed(*pods: dict[str, Any], version: str = "1") -> scripted.Step:
    metadata = {"resourceVersion": version}
    return scripted.answer(
        200, {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": list(pods)}
    )


async def test_what_already_holds_needs_no_watch() -> None:
    async with against(listed(pod("True"))) as (client, server):
        found = await client.core_v1.pods("a").wait_for("p", "condition=Ready")

    assert found is not None and found.name == "p"
    assert server.requests[0].query == {"fieldSelector=metadata.name%3Dp", "limit=500"}


async def test_the_end_of_a_watch_is_not_the_end_of_waiting() -> None:
    steps = [
        listed(pod(version="5"), version="5"),
        scripted.stream([line("BOOKMARK", pod(version="6"))]),
        scripted.stream([], then="reset"),
        scripted.answer(503),
        listed(pod(version="7"), version="7"),
        scripted.stream([line("MODIFIED", pod("True", "8"))], then="hang"),
    ]
    async with against(*steps) as (client, server):
        found = await client.core_v1.pods.wait_for("p", "condition=Ready")

    assert found is not None and found.resource_version == "8"
    watches = [one for one in server.requests if "watch=true" in one.query]
    versions = [next(q for q in one.query if q.startswith("resourceV")) for one in watches]
    assert versions == ["resourceVersion=5", "resourceVersion=6", "resourceVersion=7"]


async def test_an_expired_version_starts_over() -> None:
    steps = [
        listed(pod()),
        scripted.stream([line("ERROR", GONE)]),
        listed(pod("True")),
    ]
    async with against(*steps) as (client, _):
        assert await client.core_v1.pods.wait_for("p", "condition=Ready")


async def test_a_busy_server_is_given_its_time() -> None:
    busy = {**GONE, "reason": "TooManyRequests", "code": 429, "details": {"retryAfterSeconds": 7}}
    async with against(scripted.answer(429, busy), scripted.reset(), listed(pod("True"))) as (
        client,
        _,
    ):
        assert await client.core_v1.pods.wait_for("p", "condition=Ready")
        clock = client.rest.clock
        assert isinstance(clock, scripted.HastyClock) and 7 in clock.slept


async def test_deletion_and_creation_can_be_waited_for() -> None:
    steps = [listed(pod()), scripted.stream([line("DELETED", pod(version="2"))], then="hang")]
    async with against(*steps) as (client, _):
        await client.core_v1.pods.wait_deleted("p")
    steps = [listed(), scripted.stream([line("ADDED", pod(version="2"))], then="hang")]
    async with against(*steps) as (client, _):
        found = await client.core_v1.pods.wait_for("p", lambda obj: obj.name == "p")
        assert found.resource_version == "2"
    steps = [
        listed(pod(uid="old")),
        scripted.stream([line("MODIFIED", pod(uid="new", version="2"))]),
    ]
    async with against(*steps) as (client, _):
        await client.core_v1.pods.wait_deleted("p", uid="old")


async def test_the_deadline_reports_the_last_state() -> None:
    clock = VirtualClock()
    async with (
        scripted.ScriptedServer([listed(pod()), scripted.hang()]).running() as server,
        Client(ClientConfig(server.url), clock=clock) as client,
    ):
        waiting = asyncio.ensure_future(client.core_v1.pods.wait_for("p", "condition=Ready"))
        await server.wait_requests(2)
        await clock.advance(30)
        with pytest.raises(ConditionNotMet, match="last seen: <Pod p") as caught:
            await waiting

    assert caught.value.last is not None
    assert isinstance(caught.value, TimeoutError)


async def test_a_server_that_closes_every_watch_at_once_is_asked_ever_more_seldom() -> None:
    async def list_or_close(received: Any, connection: Any) -> None:
        step = scripted.stream([]) if "watch=true" in received.query else listed(pod())
        await step(received, connection)

    clock = scripted.HastyClock()
    async with (
        scripted.ScriptedServer([list_or_close], repeats=True).running() as server,
        Client(ClientConfig(server.url, rate_limit=None), clock=clock) as client,
    ):
        waiting = asyncio.ensure_future(client.core_v1.pods("a").wait_for("p", "condition=Ready"))
        await server.wait_requests(40)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    watches = sum("watch=true" in one.query for one in server.requests)
    assert len(clock.slept) >= watches - 1
    assert max(clock.slept) >= 30, "the pauses grow to their limit"


async def test_the_deadline_reports_why_the_object_could_not_be_looked_at(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = VirtualClock()
    async with Client(ClientConfig("http://127.0.0.1:1"), clock=clock) as client:
        waiting = asyncio.ensure_future(client.core_v1.pods("a").wait_for("p", "create"))
        async with asyncio.timeout(60):
            while "cannot be followed" not in caplog.text:  # noqa: ASYNC110  # its only sign
                await asyncio.sleep(0.001)
        await clock.advance(30)
        with pytest.raises(ConditionNotMet, match="refused"):
            await waiting


@pytest.mark.parametrize("failure", [TimeoutError("mine"), KeyError("x"), Forbidden("no")])
async def test_what_the_condition_raises_is_raised(failure: Exception) -> None:
    def condition(_: KubeObject | None) -> bool:
        raise failure

    async with against(listed(pod())) as (client, _):
        with pytest.raises(type(failure)) as caught:
            await client.core_v1.pods("a").wait_for("p", condition)

    assert caught.value is failure


async def test_what_the_server_forbids_is_raised() -> None:
    async with against(scripted.answer(403)) as (client, _):
        with pytest.raises(Forbidden):
            await client.core_v1.pods.wait_for("p", "create")


def test_conditions_are_spelled_as_for_kubectl() -> None:
    ready = KubeObject.from_dict(pod("True"))

    assert condition_from("condition=ready")(ready)
    assert not condition_from("condition=Ready=False")(ready)
    assert condition_from("create")(ready)
    assert not condition_from("condition=Ready")(KubeObject.from_dict({"metadata": {}}))
    assert not condition_from("condition=Other")(ready)
    with pytest.raises(InvalidRequest, match="cannot wait for"):
        condition_from("soon")
    with pytest.raises(InvalidRequest, match="wait_deleted"):
        condition_from("delete")


@pytest.mark.parametrize(
    ("text", "is_met"),
    [
        ("jsonpath={.metadata.name}=p", True),
        ("jsonpath='{.metadata.name}'=p", True),
        ("jsonpath={.metadata.name}=q", False),
        ("jsonpath={.metadata.name}", True),
        ("jsonpath={.status.podIP}", False),
        ("jsonpath={.status.hasRun}=true", True),
        ("jsonpath={.status.count}=3", True),
        ('jsonpath={.status.conditions[?(@.type=="Ready")].status}=True', True),
        ("jsonpath={.status.conditions}", False),
        ("jsonpath={.status.conditions[*].type}=Ready", True),
    ],
)
def test_a_value_can_be_waited_for_by_its_path(text: str, is_met: bool) -> None:
    found = pod("True")
    found["status"] |= {"hasRun": True, "count": 3}

    assert condition_from(text)(KubeObject.from_dict(found)) is is_met


@pytest.mark.parametrize(
    "text", ["jsonpath=.a", "jsonpath={.a", "jsonpath={.a}b", "jsonpath={.a}=", "jsonpath={[}=1"]
)
def test_a_path_that_is_none_is_refused_at_once(text: str) -> None:
    with pytest.raises(InvalidRequest, match="cannot wait for"):
        condition_from(text)


def test_a_condition_about_an_older_generation_does_not_count() -> None:
    stale = pod("True", generation=3)
    stale["status"]["conditions"][0]["observedGeneration"] = 2

    assert not has_condition(KubeObject.from_dict(stale), "Ready", "True")
