"""A client of a server that follows a script, and what such a server sends."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from proreus.api.wire import json
from proreus.client import Client, ClientConfig
from tests.unit.client.scripted_server import HastyClock, ScriptedServer, Step

GONE = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410}


@contextlib.asynccontextmanager
async def against(*steps: Step) -> AsyncIterator[tuple[Client, ScriptedServer]]:
    async with ScriptedServer(list(steps)).running() as server:
        config = ClientConfig(server.url, rate_limit=None)
        async with Client(config, clock=HastyClock()) as client:
            yield client, server


def line(kind: str, obj: dict[str, Any]) -> bytes:
    """An event of a watch."""
    return json.encode({"type": kind, "object": obj}) + b"\n"
