"""Writes that follow each other at two servers of one etcd: each begins with its own cache, which
may not know of the other's last write yet."""

from __future__ import annotations

import asyncio

import pytest

from proreus.client import Conflict, NotFound
from tests.in_process import servers_on_one_etcd

ROUNDS = 40


async def test_what_one_server_wrote_is_never_undone_by_a_write_at_the_other() -> None:
    """Guarantee: linearizable"""
    async with servers_on_one_etcd() as servers:
        one, other = (client.core_v1.configmaps("default") for client in servers)
        await one.create({"metadata": {"name": "shared"}})

        for number in range(ROUNDS):
            written = (one, other)[number % 2]
            await written.patch("shared", {"data": {f"in-turn-{number}": ""}})
        await asyncio.gather(
            *((one, other)[number % 2].patch("shared", {"data": {f"at-once-{number}": ""}})
              for number in range(ROUNDS))
        )  # fmt: skip

        kept = (await one.get("shared")).to_dict()["data"]
        assert len(kept) == 2 * ROUNDS


async def test_a_write_meets_the_newest_state_whichever_server_wrote_it() -> None:
    async with servers_on_one_etcd() as servers:
        one, other = (client.core_v1.configmaps("default") for client in servers)
        found = await one.create({"metadata": {"name": "shared"}})
        for number in range(ROUNDS):
            outdated, data = found.to_dict(), {"number": str(number)}

            found = await other.replace({**outdated, "data": data})
            tried = await one.patch("shared", {"data": {"tried": ""}}, dry_run=True)

            assert tried.to_dict()["data"] == {**data, "tried": ""}
            with pytest.raises(Conflict):
                await one.replace({**outdated, "data": {}})
            one, other = other, one


async def test_a_delete_meets_the_newest_state_whichever_server_wrote_it() -> None:
    """Guarantee: linearizable"""
    async with servers_on_one_etcd() as servers:
        one, other = (client.core_v1.configmaps("default") for client in servers)
        for number in range(ROUNDS):
            name = f"shared-{number}"
            await one.create({"metadata": {"name": name}})
            held = {"metadata": {"finalizers": ["example.com/held"]}}
            await other.patch(name, held)

            await one.delete(name)
            marked = (await other.get(name)).to_dict()["metadata"]
            await other.patch(name, {"metadata": {"finalizers": None}})

            assert "deletionTimestamp" in marked, "another server's finalizer was passed over"
            with pytest.raises(NotFound):
                await one.delete(name)
            await one.create({"metadata": {"name": name}})
            await other.delete(name)
            with pytest.raises(NotFound):
                await one.delete(name)
            one, other = other, one
