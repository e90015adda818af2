"""An ``Operator``, tested: what it makes, what it does about faults, what it may do.

Run with pytest-asyncio in its auto mode: ``pytest -o asyncio_mode=auto``.
"""

from __future__ import annotations

from typing import Any

from greeter import operator

from proreus.client import Client, Conflict, NotFound
from proreus.testing import BreakConnection, SharedServer

ANN: dict[str, Any] = {
    "apiVersion": "example.com/v1",
    "kind": "Greeting",
    "metadata": {"name": "ann", "namespace": "default"},
    "spec": {"name": "Ann"},
}


async def test_a_greeting_gets_a_config_map(
    proreus_server: SharedServer, proreus_client: Client
) -> None:
    async with proreus_server.running(operator):
        await proreus_client.resource("greetings.example.com")("default").create(ANN)
        await proreus_server.settle()

        found = await proreus_client.core_v1.configmaps("default").get("ann")

    assert found["data"]["text"] == "Hello, Ann!"


async def test_a_conflict_and_a_broken_connection_are_tried_again(
    proreus_server: SharedServer, proreus_client: Client
) -> None:
    proreus_server.fail("PATCH", "configmaps", Conflict, times=1, user_agent="greeter")
    proreus_server.fail("PATCH", "greetings/status", BreakConnection, applied=True, times=1)
    greetings = proreus_client.resource("greetings.example.com")("default")
    async with proreus_server.running(operator):
        await greetings.create(ANN)
        await greetings.wait_for("ann", "jsonpath={.status.text}=Hello, Ann!")
        await proreus_client.core_v1.configmaps("default").wait_for("ann", "create")

    proreus_server.requests.by("greeter").of("patch", "configmaps").happened()


async def test_it_comes_through_an_expired_watch_and_a_restart_of_the_server(
    proreus_server: SharedServer, proreus_client: Client
) -> None:
    greetings = proreus_client.resource("greetings.example.com")("default")
    async with proreus_server.running(operator):
        proreus_server.expire_watches()
        await proreus_server.kill()
        await proreus_server.start()
        await greetings.create(ANN)
        await greetings.wait_for("ann", "jsonpath={.status.text}=Hello, Ann!", timeout_s=60)


async def test_each_test_begins_with_nothing(proreus_client: Client) -> None:
    try:
        await proreus_client.core_v1.configmaps("default").get("ann")
    except NotFound:
        return
    raise AssertionError("another test's config map is there")
