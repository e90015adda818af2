"""A running server forgets old history by itself; without that its file would grow for ever."""

from __future__ import annotations

import pytest

from proreus.api.object import KubeObject
from proreus.api.status import Expired
from proreus.testing.server import running_server
from proreus.testing.virtual_clock import VirtualClock


async def test_a_state_is_readable_for_five_minutes_and_gone_after_ten() -> None:
    clock = VirtualClock()
    async with running_server(clock=clock) as server, server.client() as client:
        config_maps = client.core_v1.configmaps("default")
        made = await config_maps.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "1"}}
        )

        async def as_it_was() -> list[KubeObject]:
            past = await config_maps.list(
                resource_version=made.resource_version, resource_version_match="Exact"
            )
            return list(past.items)

        await config_maps.patch("a", {"data": {"k": "2"}}, type="merge")

        await clock.advance(299)
        assert [one.data.k for one in await as_it_was()] == ["1"]

        await clock.advance(602)
        # The watch cache keeps what is recent whatever storage forgot; another write ends that.
        for i in range(200):
            await config_maps.patch("a", {"data": {"k": str(i)}}, type="merge")
        await clock.advance(602)
        with pytest.raises(Expired):
            await as_it_was()
