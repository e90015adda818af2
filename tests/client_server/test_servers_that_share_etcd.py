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


async def test_reads_see_what_was_acknowledged_before_whichever_server_is_asked() -> None:
    """Guarantee: linearizable. Writers count up, and readers at both servers begin at any time."""
    names = ("a", "b", "c")
    acknowledged = dict.fromkeys(names, 0)
    sent = dict.fromkeys(names, 0)

    async with servers_on_one_etcd() as servers:
        for name in names:
            await (
                servers[0]
                .core_v1.configmaps("default")
                .create({"metadata": {"name": name}, "data": {"n": "0"}})
            )

        async def write(name: str) -> None:
            config_maps = servers[0].core_v1.configmaps("default")
            for number in range(1, 31):
                sent[name] = number
                await config_maps.replace({"metadata": {"name": name}, "data": {"n": str(number)}})
                acknowledged[name] = number

        async def read(server: int, name: str) -> None:
            config_maps = servers[server].core_v1.configmaps("default")
            while acknowledged[name] < 30:
                before = acknowledged[name]
                found = (await config_maps.get(name)).to_dict()
                assert before <= int(found["data"]["n"]) <= sent[name]

        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(write(name))
                for server in (0, 0, 1, 1):
                    group.create_task(read(server, name))
