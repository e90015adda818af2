"""Events are kept for an hour, or as long as a flag says, and then go as if deleted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from proreus.aio.clock import SystemClock
from proreus.api.wire.framing import WatchEvent
from proreus.server.config import ServerConfig
from proreus.server.kinds import builtin_resources
from proreus.testing.server import running_server
from tests.real_etcd import running_etcd

TTL_S = 2.0


@asynccontextmanager
async def config_on(storage: str, folder: Path) -> AsyncIterator[ServerConfig]:
    match storage:
        case "memory":
            yield ServerConfig(event_ttl_s=TTL_S)
        case "sqlite":
            yield ServerConfig(event_ttl_s=TTL_S, data_dir=folder)
        case _:
            async with running_etcd() as etcd:
                yield ServerConfig(event_ttl_s=TTL_S, etcd=tuple(etcd.endpoints))


async def two(events: AsyncIterator[WatchEvent]) -> list[tuple[str, str]]:
    found = [await anext(events), await anext(events)]
    return [(event.type, event.object.name) for event in found]


@pytest.mark.parametrize("storage", ["memory", "sqlite", "etcd"])
async def test_an_event_goes_and_its_watchers_are_notified(storage: str, tmp_path: Path) -> None:
    about = {"kind": "Pod", "namespace": "default", "name": "web"}
    body = {"metadata": {"name": "e"}, "involvedObject": about, "reason": "Started"}
    async with (
        config_on(storage, tmp_path) as config,
        running_server(config, SystemClock()) as server,
        server.client() as client,
    ):
        core, newer = client.core_v1.events("default"), client.events_v1.events("default")
        maps = client.core_v1.configmaps("default")
        before = (await core.list()).resource_version
        async with (
            core.watch(resource_version=before) as watched,
            newer.watch(resource_version=before) as watched_newer,
            asyncio.timeout(60),
        ):
            await core.create(body)
            await maps.create({"metadata": {"name": "stays"}})
            seen, also = await two(watched), await two(watched_newer)
        left = (await core.list()).items
        stays = await maps.get("stays")

    assert seen == also == [("ADDED", "e"), ("DELETED", "e")]
    assert left == []
    assert stays.name == "stays"


def test_events_are_kept_for_an_hour_and_nothing_else_expires() -> None:
    kept = {
        str(one.group_resource): one.persistence.ttl_s
        for one in builtin_resources()
        if one.persistence.ttl_s
    }
    assert kept == {"events": 3600.0, "events.events.k8s.io": 3600.0}
