"""Several servers on one etcd: what one acknowledges, the others serve and stream."""

from __future__ import annotations

import asyncio

from tests.in_process import servers_on_one_etcd


async def test_a_write_through_one_server_is_read_and_watched_through_another() -> None:
    """Guarantee: linearizable."""
    async with servers_on_one_etcd() as (writer, reader):
        before = await reader.core_v1.configmaps("default").list()
        watching = reader.core_v1.configmaps("default").watch(
            resource_version=before.resource_version
        )
        async with watching as events:
            made = await writer.core_v1.configmaps("default").create(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}}
            )

            read = await reader.core_v1.configmaps("default").get("shared")
            async with asyncio.timeout(60):
                event = await anext(aiter(events))

    assert read.resource_version == made.resource_version
    assert (event.type, event.object.name) == ("ADDED", "shared")
    assert event.object.resource_version == made.resource_version
