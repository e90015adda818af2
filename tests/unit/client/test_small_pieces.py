"""What reconcilers are made of: owner references, finalizers, conditions, retries, waiting."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from proreus.api.object import KubeObject
from proreus.client import Client, Conflict, NotFound
from proreus.client.conditions import set_condition
from proreus.client.eventually import eventually
from proreus.client.finalizers import add_finalizer, has_finalizer, remove_finalizer
from proreus.client.ownership import controlled_by, controller_of, owner_reference
from proreus.client.resources.modifying import ApplyOutcome
from proreus.client.retry_on_conflict import TRIES, retry_on_conflict
from proreus.testing.virtual_clock import VirtualClock
from tests.any_server import any_client
from tests.unit.client.scripted_server import HastyClock

OURS = "example.com/ours"


@pytest_asyncio.fixture
async def client(given_kubeconfig: str) -> AsyncIterator[Client]:
    async with any_client(given_kubeconfig) as connected:
        yield connected


def widget(**metadata: Any) -> KubeObject:
    named = {"name": "w", "namespace": "a", "uid": "u", "generation": 3}
    content = {"apiVersion": "x/v1", "kind": "Widget", "metadata": named | metadata}
    return KubeObject.from_dict(content)


# Owners


def test_an_object_is_controlled_by_one_owner_and_keeps_its_others() -> None:
    other = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "n"}
    body = {"metadata": {"name": "c", "ownerReferences": [other]}}

    owned = controlled_by(widget(), body)
    again = controlled_by(widget(), owned)

    assert owned["metadata"]["namespace"] == "a"
    assert controller_of(KubeObject.from_dict(owned))["uid"] == "u"
    assert again["metadata"]["ownerReferences"] == owned["metadata"]["ownerReferences"]
    assert [one["uid"] for one in again["metadata"]["ownerReferences"]] == ["n", "u"]
    assert body == {"metadata": {"name": "c", "ownerReferences": [other]}}, "it is a copy"


def test_an_object_of_another_controller_or_namespace_is_refused() -> None:
    taken = {"uid": "x", "controller": True, **{"kind": "K", "name": "n", "apiVersion": "v1"}}

    with pytest.raises(ValueError, match="controlled by another"):
        controlled_by(widget(), {"metadata": {"name": "c", "ownerReferences": [taken]}})
    with pytest.raises(ValueError, match="cannot own an object in the namespace b"):
        controlled_by(widget(), {"metadata": {"name": "c", "namespace": "b"}})
    assert "controller" not in owner_reference(widget())


# Conditions


def test_a_condition_has_the_generation_and_the_time_of_its_last_transition() -> None:
    first = set_condition(widget(), "Ready", False, reason="Starting", now=0.0)
    seen = KubeObject.from_dict({**widget(generation=4).to_dict(), "status": {"conditions": first}})
    same = set_condition(seen, "Ready", False, reason="Waiting", message="for a volume", now=60.0)
    other = set_condition(seen, "Ready", True, reason="Started", now=60.0)

    assert first[0]["observedGeneration"] == 3
    assert (same[0]["reason"], same[0]["message"]) == ("Waiting", "for a volume")
    assert same[0]["observedGeneration"] == 4
    assert same[0]["lastTransitionTime"] == first[0]["lastTransitionTime"]
    assert other[0]["lastTransitionTime"] != first[0]["lastTransitionTime"]
    assert [
        one["type"] for one in set_condition(seen, "Degraded", "Unknown", reason="R", now=0.0)
    ] == [
        "Ready",
        "Degraded",
    ]


@pytest.mark.parametrize(("status", "reason"), [("yes", "R"), ("true", "R"), (True, "")])
def test_a_condition_that_no_server_would_take_is_refused(status: bool | str, reason: str) -> None:
    with pytest.raises(ValueError, match="condition"):
        set_condition(widget(), "Ready", status, reason=reason, now=0.0)


# Retries


async def test_a_conflict_is_tried_again_five_times_and_other_failures_are_not() -> None:
    tried = 0

    async def attempt() -> str:
        nonlocal tried
        tried += 1
        if tried < 3:
            raise Conflict("changed")
        return "done"

    async def never() -> str:
        nonlocal tried
        tried += 1
        raise Conflict("changed")

    async def missing() -> str:
        nonlocal tried
        tried += 1
        raise NotFound("gone")

    clock = HastyClock()
    assert await retry_on_conflict(attempt, clock=clock) == "done"
    tried = 0
    with pytest.raises(Conflict):
        await retry_on_conflict(never, clock=clock)
    assert tried == TRIES
    tried = 0
    with pytest.raises(NotFound):
        await retry_on_conflict(missing, clock=clock)
    assert tried == 1


async def test_writers_that_modify_one_object_at_once_all_have_their_way(client: Client) -> None:
    maps = client.core_v1.configmaps(client.namespace)
    await maps.create({"metadata": {"name": "m"}, "data": {}})

    def setting(key: str) -> Any:
        return lambda content: content.setdefault("data", {}).update({key: "v"})

    await asyncio.gather(*(maps.modify("m", setting(f"k{number}")) for number in range(4)))
    before = await maps.get("m")
    after = await maps.modify("m", setting("k0"))

    assert set(before["data"]) == {"k0", "k1", "k2", "k3"}
    assert after.resource_version == before.resource_version, "nothing was written"
    with pytest.raises(NotFound):
        await maps.modify("none", setting("k"))


async def test_ensuring_says_what_it_did(client: Client) -> None:
    maps = client.core_v1.configmaps(client.namespace)
    body = {"metadata": {"name": "m"}, "data": {"k": "v"}}

    made = await maps.ensure(body)
    same = await maps.ensure(body)
    known = await maps.ensure(body, known=same.object)
    other = await maps.ensure({**body, "data": {"k": "w"}})

    found = [one.outcome for one in (made, same, known, other)]
    assert found == [
        ApplyOutcome.CREATED,
        ApplyOutcome.UNCHANGED,
        ApplyOutcome.UNCHANGED,
        ApplyOutcome.CONFIGURED,
    ]
    assert made.has_changed and not same.has_changed


# Finalizers


async def test_a_finalizer_is_added_and_removed_beside_those_of_others(client: Client) -> None:
    resource = client.core_v1.configmaps
    maps = resource(client.namespace)
    stale = await maps.create({"metadata": {"name": "m", "finalizers": ["example.com/theirs"]}})
    await maps.patch("m", {"data": {"k": "v"}})

    added = await add_finalizer(resource, stale, OURS)
    again = await add_finalizer(resource, added, OURS)
    await maps.delete("m")
    removed = await remove_finalizer(resource, added, OURS)

    assert added.metadata.finalizers == ["example.com/theirs", OURS] and again is added
    assert removed is not None and not has_finalizer(removed, OURS)
    assert (await add_finalizer(resource, removed, OURS)).metadata.finalizers == [
        "example.com/theirs"
    ], "one that is being deleted takes no more"
    await remove_finalizer(resource, removed, "example.com/theirs")
    await maps.wait_deleted("m", timeout_s=60)
    assert await remove_finalizer(resource, added, OURS) is None


async def test_another_object_of_the_same_name_gets_no_finalizer(client: Client) -> None:
    resource = client.core_v1.configmaps
    old = await resource(client.namespace).create({"metadata": {"name": "m"}})
    await resource(client.namespace).delete("m")
    await resource(client.namespace).create({"metadata": {"name": "m"}})

    with pytest.raises(NotFound):
        await add_finalizer(resource, old, OURS)
    assert not has_finalizer(await resource(client.namespace).get("m"), OURS)


# Waiting


async def test_what_comes_true_in_the_end_is_returned() -> None:
    answers: list[Any] = [0, AssertionError("not yet"), NotFound("not there"), "there"]

    async def look() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert await eventually(look, clock=HastyClock()) == "there"
    assert await eventually(lambda: 3) == 3


async def test_what_does_not_come_true_says_what_was_seen_last() -> None:
    clock = VirtualClock()
    nothing: list[str] = []
    waiting = asyncio.ensure_future(eventually(lambda: nothing, timeout_s=5, clock=clock))
    await clock.advance(6)

    with pytest.raises(TimeoutError, match=r"not within 5 s, at last: \[\]"):
        await waiting
    with pytest.raises(KeyError):
        await eventually(lambda: os.environ["MISSING"])
