"""What the tests of custom resources ask of a server, in words."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from proreus.client import Client

PATIENCE_S = 60.0  # on a machine that does much else
WIDGETS = "widgets.example.com"


def definitions(client: Client) -> Any:
    return client.resource("customresourcedefinitions.v1.apiextensions.k8s.io")


def widgets(client: Client, of_version: str = "v1") -> Any:
    return client.resource(api_version=f"example.com/{of_version}", kind="Widget")("default")


async def define(client: Client, body: dict[str, Any]) -> None:
    """Create a definition and wait until its kind is served."""
    await definitions(client).create(body)
    name = body["metadata"]["name"]
    await definitions(client).wait_for(name, "condition=Established", timeout_s=PATIENCE_S)


async def redefine(client: Client, body: dict[str, Any]) -> None:
    """Put another spec; it takes effect a moment later."""
    await definitions(client).patch(body["metadata"]["name"], {"spec": body["spec"]})


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await holds():
            continue  # asking takes a turn of the loop


async def conditions(client: Client, name: str) -> dict[str, tuple[str, str, str]]:
    """Status, reason and message by type."""
    found = (await definitions(client).get(name)).to_dict()["status"].get("conditions") or ()
    return {one["type"]: (one["status"], one["reason"], one["message"]) for one in found}
