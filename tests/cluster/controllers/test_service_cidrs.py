"""Ranges of service addresses over the wire: made ready, extended, and held while they are used."""

from __future__ import annotations

import pytest

from proreus.aio.tasks import background
from proreus.api.object import KubeObject
from proreus.api.status import Invalid
from proreus.client import conditions
from proreus.cluster.controllers import CONTROLLERS, run_controllers
from proreus.cluster.controllers.service_cidrs import FINALIZER
from proreus.testing.server import running_server
from proreus.testing.virtual_clock import VirtualClock

CHOSEN = {"service-cidr": CONTROLLERS["service-cidr"]}
SERVICE = {"metadata": {"name": "a"}, "spec": {"clusterIP": "10.9.0.5", "ports": [{"port": 80}]}}
RANGE = {"metadata": {"name": "more"}, "spec": {"cidrs": ["10.9.0.0/24"]}}


def is_ready(found: KubeObject | None) -> bool:
    return found is not None and conditions.is_true(found, "Ready")


def is_held(found: KubeObject | None) -> bool:
    ready = conditions.find(found, "Ready") if found is not None else None
    return ready is not None and ready.reason == "Terminating"


async def test_a_further_range_gives_out_addresses_and_stays_while_one_is_used() -> None:
    clock = VirtualClock()
    async with (
        running_server(clock=clock) as server,
        server.client() as client,
        background(run_controllers(client, clock, controllers=CHOSEN)),
    ):
        services = client.core_v1.services("default")
        ranges = client.networking_v1.servicecidrs
        with pytest.raises(Invalid, match="does not match the current range"):
            await services.create(SERVICE)

        await ranges.create(RANGE)
        ready = await ranges.wait_for("more", is_ready, timeout_s=60)
        assert ready is not None
        assert ready.to_dict()["metadata"]["finalizers"] == [FINALIZER]
        made = await services.create(SERVICE)
        assert made.spec.clusterIP == "10.9.0.5"

        await ranges.delete("more")
        held = await ranges.wait_for("more", is_held, timeout_s=60)
        assert held is not None
        assert conditions.find(held, "Ready").message == (
            "There are still IPAddresses referencing the ServiceCIDR, please remove them or "
            "create a new ServiceCIDR"
        )
        with pytest.raises(Invalid, match="does not match the current range"):
            await services.create({**SERVICE, "metadata": {"name": "b"}, "spec": {
                "clusterIP": "10.9.0.6", "ports": [{"port": 80}]}})  # fmt: skip

        await services.delete("a")
        await clock.advance(11)
        await ranges.wait_deleted("more", timeout_s=60)


async def test_the_range_of_the_cluster_is_protected_too() -> None:
    clock = VirtualClock()
    async with (
        running_server(clock=clock) as server,
        server.client() as client,
        background(run_controllers(client, clock, controllers=CHOSEN)),
    ):
        ranges = client.networking_v1.servicecidrs
        await ranges.wait_for(
            "kubernetes",
            lambda found: found is not None and FINALIZER in (found.metadata.finalizers or ()),
            timeout_s=60,
        )

        await ranges.delete("kubernetes")

        await ranges.wait_for("kubernetes", is_held, timeout_s=60)
