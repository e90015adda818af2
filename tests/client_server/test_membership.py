"""API servers of one cluster: their leases, and the endpoints of the service ``kubernetes``."""

from __future__ import annotations

import pytest

from proreus.api.object import KubeObject
from proreus.api.values.timestamp import parse_time
from proreus.client import Client
from proreus.server.config import ConfigInvalid, ServerConfig
from proreus.server.membership.identity_lease import identity_lease
from proreus.server.membership.live_servers import LiveServers
from proreus.server.storage.memory import MemoryStorage
from proreus.server.storage.resource_stores import ResourceStores
from proreus.testing.server import running_server
from proreus.testing.virtual_clock import VirtualClock
from tests.real_etcd import running_etcd

SERVERS = "apiserver.kubernetes.io/identity=kube-apiserver"


def published(found: KubeObject | None) -> list[str]:
    """The addresses in Endpoints or in an EndpointSlice."""
    if found is None:
        return []
    content = found.to_dict()
    if content["kind"] == "Endpoints":
        return [one["ip"] for part in content.get("subsets") or () for one in part["addresses"]]
    return [one["addresses"][0] for one in content["endpoints"]]


async def wait_published(client: Client, *addresses: str) -> None:
    for resource in (client.discovery_v1.endpointslices, client.core_v1.endpoints):
        await resource("default").wait_for(
            "kubernetes", lambda found: published(found) == list(addresses), timeout_s=60
        )


async def test_the_service_leads_to_the_server_s_address_and_port() -> None:
    config = ServerConfig(advertise_address="192.0.2.2")
    async with running_server(config) as server, server.client() as client:
        service = await client.core_v1.services("default").get("kubernetes")
        found = await client.discovery_v1.endpointslices("default").get("kubernetes")

    port = int(server.url.rpartition(":")[2])
    assert service["spec"]["ports"][0]["targetPort"] == port
    assert found["ports"][0]["port"] == port
    assert published(found) == ["192.0.2.2"]


async def test_a_server_on_loopback_alone_is_published_nowhere() -> None:
    async with running_server() as server, server.client() as client:
        await wait_published(client)
        (lease,) = await client.coordination_v1.leases("kube-system").list(label_selector=SERVERS)

    assert "annotations" not in lease.to_dict()["metadata"]


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "example.com", "224.0.0.1"])
def test_an_address_that_others_cannot_reach_is_refused(address: str) -> None:
    with pytest.raises(ConfigInvalid, match="advertised address"):
        ServerConfig(advertise_address=address)


async def test_endpoints_that_were_changed_are_mended() -> None:
    clock = VirtualClock()
    config = ServerConfig(advertise_address="192.0.2.2")
    async with running_server(config, clock) as server, server.client() as client:
        await client.core_v1.endpoints("default").delete("kubernetes")
        slices = client.discovery_v1.endpointslices("default")
        await slices.patch("kubernetes", {"endpoints": [{"addresses": ["192.0.2.66"]}]})
        await client.core_v1.services("default").delete("kubernetes")

        await clock.advance(10)

        await wait_published(client, "192.0.2.2")
        again = await client.core_v1.services("default").wait_for(
            "kubernetes", lambda found: found is not None, timeout_s=60
        )
        assert again is not None
        assert again.spec.clusterIP == "10.0.0.1"


async def test_all_servers_of_one_etcd_are_published_until_they_end() -> None:
    async with running_etcd() as etcd:
        endpoints = tuple(etcd.endpoints)
        one = ServerConfig(etcd=endpoints, advertise_address="192.0.2.1")
        other = ServerConfig(etcd=endpoints, advertise_address="192.0.2.2")
        async with running_server(one) as server, server.client() as client:
            await wait_published(client, "192.0.2.1")
            async with running_server(other):
                await wait_published(client, "192.0.2.1", "192.0.2.2")
                leases = await client.coordination_v1.leases("kube-system").list(
                    label_selector=SERVERS
                )
                assert len(leases.items) == 2, "each has a lease of its own"
            await wait_published(client, "192.0.2.1")


async def test_a_server_on_loopback_leaves_the_others_endpoints_as_they_are() -> None:
    async with running_etcd() as etcd:
        endpoints = tuple(etcd.endpoints)
        reachable = ServerConfig(etcd=endpoints, advertise_address="192.0.2.1")
        async with running_server(reachable) as server, server.client() as client:
            slices = client.discovery_v1.endpointslices("default")
            before = await slices.get("kubernetes")
            async with running_server(ServerConfig(etcd=endpoints)):
                during = await slices.get("kubernetes")
            after = await slices.get("kubernetes")

    assert published(before) == ["192.0.2.1"]
    assert before.resource_version == during.resource_version == after.resource_version


async def test_a_server_that_died_is_forgotten_after_fifteen_seconds() -> None:
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as storage:
        stores = ResourceStores(storage)
        dead, alive = (LiveServers(stores, clock, f"192.0.2.{n}") for n in (1, 2))
        await dead.renew()
        assert await alive.renew() == ["192.0.2.1", "192.0.2.2"]

        await clock.advance(10)
        assert await alive.renew() == ["192.0.2.1", "192.0.2.2"]
        await clock.advance(10)

        assert await alive.renew() == ["192.0.2.2"]


async def test_a_server_renews_its_lease_every_ten_seconds() -> None:
    clock = VirtualClock()
    async with running_server(clock=clock) as server, server.client() as client:
        leases = client.coordination_v1.leases("kube-system")
        (first,) = await leases.list(label_selector=SERVERS)

        await clock.advance(10)

        def is_renewed(found: KubeObject | None) -> bool:
            return found is not None and found.spec.renewTime != first.spec.renewTime

        renewed = await leases.wait_for(first.name, is_renewed, timeout_s=60)

    assert renewed is not None
    assert parse_time(renewed["spec"]["renewTime"]) == parse_time(first["spec"]["renewTime"]) + 10
    assert renewed.spec.leaseDurationSeconds == 3600
    assert renewed.spec.holderIdentity == first.spec.holderIdentity
    assert first["spec"]["holderIdentity"].startswith(f"{first.name}_")


async def test_leases_of_servers_that_are_gone_are_removed_and_no_others() -> None:
    clock = VirtualClock()
    async with running_server(clock=clock) as server, server.client() as client:
        leases = client.coordination_v1.leases("kube-system")
        (own,) = await leases.list(label_selector=SERVERS)
        gone = identity_lease("apiserver-gone", "host", "", "apiserver-gone_1", clock.now())
        await leases.create(gone)
        other = {**gone, "metadata": {"name": "some-program"}}
        await leases.create(other)

        await clock.advance(3600)
        await clock.advance(3600)

        await leases.wait_deleted("apiserver-gone", timeout_s=60)
        assert {found.name for found in await leases.list()} == {own.name, "some-program"}
