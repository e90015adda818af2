"""Several servers on one etcd: what one acknowledges, the others serve and stream."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from proreus.client import Client, Conflict, Forbidden, Impersonation
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


async def test_a_quota_holds_for_what_all_servers_are_asked_for_at_once() -> None:
    async with servers_on_one_etcd() as (one, other):
        quotas = one.core_v1.resourcequotas("default")
        hard = {"count/configmaps": "5"}
        await quotas.create({"metadata": {"name": "few"}, "spec": {"hard": hard}})
        counted = {"hard": hard, "used": {"count/configmaps": "0"}}  # as its controller does
        await quotas.patch_status("few", {"status": counted})
        await other.core_v1.resourcequotas("default").wait_for(
            "few", lambda quota: quota is not None and bool(quota.status.get("hard")), timeout_s=60
        )

        async def create(number: int) -> bool:
            maps = (one, other)[number % 2].core_v1.configmaps("default")
            try:
                await maps.create({"metadata": {"name": f"made-{number}"}})
            except (Forbidden, Conflict):
                return False  # over the limit, or too many asked at once
            return True

        made = await asyncio.gather(*(create(number) for number in range(30)))
        while sum(made) < 5:  # those that lost the race, one by one
            made.append(await create(100 + len(made)))
        one_more = await create(1000), await create(1001)

        stored = await other.core_v1.configmaps("default").list()
        quota = await one.core_v1.resourcequotas("default").get("few")

    assert sum(made) == len(stored.items) == 5
    assert one_more == (False, False)
    assert quota.status["used"] == {"count/configmaps": "5"}


async def test_rights_that_are_given_and_taken_at_one_server_hold_at_the_other() -> None:
    async with servers_on_one_etcd() as (one, other):
        acting = replace(other.config, impersonate=Impersonation("ann"))
        async with Client(acting) as ann:
            group = "rbac.authorization.k8s.io"
            binding = {
                "metadata": {"name": "ann"},
                "roleRef": {"kind": "ClusterRole", "name": "lists-maps", "apiGroup": group},
                "subjects": [{"kind": "User", "name": "ann", "apiGroup": group}],
            }

            async def is_allowed() -> bool:
                try:
                    await ann.core_v1.configmaps("default").list()
                except Forbidden:
                    return False
                return True

            before = await is_allowed()
            rights = one.rbac_v1.rolebindings("default")
            roles = one.rbac_v1.clusterroles
            rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
            await roles.create({"metadata": {"name": "lists-maps"}, "rules": rules})
            await rights.create(binding)
            async with asyncio.timeout(60):
                while not await is_allowed():  # noqa: ASYNC110 - a right announces itself to nobody
                    await asyncio.sleep(0.01)
                await rights.delete("ann")
                while await is_allowed():  # noqa: ASYNC110
                    await asyncio.sleep(0.01)

    assert not before
