"""What a server makes of itself is what a client would have made, with its own uid and time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from proreus.api.values.timestamp import format_time
from proreus.client import Client
from proreus.testing.server import running_server
from proreus.testing.virtual_clock import VirtualClock

Get = Callable[[Client], Awaitable[Any]]


async def role(client: Client) -> Any:
    return (await client.rbac_v1.clusterroles.get("system:node")).to_dict()


async def schema(client: Client) -> Any:
    return (await client.flowcontrol_v1.flowschemas.get("catch-all")).to_dict()


async def first(clock: VirtualClock, get: Get) -> Any:
    async with running_server(clock=clock) as server, server.client() as client:
        return await get(client)


def times(managed: Any) -> set[str]:
    return {entry["time"] for entry in managed["metadata"]["managedFields"]}


@pytest.mark.parametrize("get", [role, schema])
async def test_every_server_s_objects_have_a_uid_and_a_time_of_their_own(get: Get) -> None:
    early, late = VirtualClock(start_s=1_000_000.0), VirtualClock(start_s=2_000_000.0)

    one, other = await first(early, get), await first(late, get)

    for found, clock in ((one, early), (other, late)):
        assert found["metadata"]["creationTimestamp"] == format_time(clock.now())
        assert times(found) == {format_time(clock.now())}
    assert one["metadata"]["uid"] != other["metadata"]["uid"]


async def test_a_status_is_written_with_the_object_and_owned_by_its_writer() -> None:
    clock = VirtualClock(start_s=1_000_000.0)

    found = await first(clock, schema)

    (condition,) = found["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Dangling", "False")
    assert condition["lastTransitionTime"] == format_time(clock.now())
    owners = [entry.get("subresource") for entry in found["metadata"]["managedFields"]]
    assert owners == [None, "status"]


async def test_it_is_stored_as_if_it_had_been_created_by_a_client() -> None:
    async with running_server() as server, server.client() as client:
        found = await role(client)
        copy = {**found, "metadata": {**found["metadata"], "name": "copy"}}
        for field in ("uid", "resourceVersion", "managedFields"):
            copy["metadata"].pop(field, None)

        made = await _create(client, copy)

    assert _compared(made) == _compared(found)


async def _create(client: Client, obj: Any) -> Any:
    return (await client.rbac_v1.clusterroles.create(obj)).to_dict()


def _compared(obj: Any) -> Any:
    owners = [
        (entry["operation"], entry["apiVersion"], entry["fieldsV1"])
        for entry in obj["metadata"]["managedFields"]
    ]
    kept = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in ("name", "uid", "resourceVersion", "creationTimestamp", "managedFields")
    }
    return {**obj, "metadata": kept, "owners": owners}
