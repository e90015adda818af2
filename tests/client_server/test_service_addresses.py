"""Cluster addresses and node ports: one owner each, and free again when it is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from proreus.api.status import AlreadyExists, Invalid, NotFound
from proreus.client import Client
from proreus.server.config import ServerConfig
from proreus.testing.server import running_server
from proreus.testing.virtual_clock import VirtualClock
from tests.real_etcd import running_etcd


@pytest_asyncio.fixture
async def client() -> AsyncIterator[Client]:
    async with running_server() as server, server.client() as connected:
        yield connected


def service(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"ports": [{"port": 80}], **spec},
    }


def addresses(client: Client) -> Any:
    return client.networking_v1.ipaddresses


async def names(client: Client) -> set[str]:
    """Of all addresses but the API server's own."""
    return {found.name for found in await addresses(client).list()} - {"10.0.0.1"}


async def test_a_service_gets_an_address_of_its_own(client: Client) -> None:
    services = client.core_v1.services("default")

    made = [await services.create(service(f"s{i}")) for i in range(5)]

    assert len({one.spec.clusterIP for one in made}) == 5
    assert await names(client) == {one.spec.clusterIP for one in made}


async def test_an_address_says_whose_it_is_and_goes_with_its_service(client: Client) -> None:
    services = client.core_v1.services("default")
    made = await services.create(service("a"))

    found = await addresses(client).get(made.spec.clusterIP)
    await services.delete("a")

    parent = {"resource": "services", "namespace": "default", "name": "a"}
    assert found.to_dict()["spec"] == {"parentRef": parent}
    assert found.labels == {
        "ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    }
    with pytest.raises(NotFound):
        await addresses(client).get(made.spec.clusterIP)


async def test_an_address_is_free_for_others_when_its_service_is_deleted(client: Client) -> None:
    services = client.core_v1.services("default")
    await services.create(service("a", clusterIP="10.0.5.5"))
    with pytest.raises(Invalid, match="provided IP is already allocated"):
        await services.create(service("b", clusterIP="10.0.5.5"))

    await services.delete("a")
    again = await services.create(service("b", clusterIP="10.0.5.5"))

    assert again.spec.clusterIP == "10.0.5.5"
    assert (await addresses(client).get("10.0.5.5")).spec.parentRef.name == "b"


async def test_an_address_goes_with_the_last_finalizer_of_its_service(client: Client) -> None:
    services = client.core_v1.services("default")
    held = {**service("a"), "metadata": {"name": "a", "finalizers": ["example.com/wait"]}}
    made = await services.create(held)

    await services.delete("a")
    assert await names(client) == {made.spec.clusterIP}
    await services.patch("a", {"metadata": {"finalizers": None}})

    assert await names(client) == set()


async def test_addresses_go_with_all_services_of_a_namespace(client: Client) -> None:
    services = client.core_v1.services("default")
    for name in ("a", "b"):
        await services.create({**service(name), "metadata": {"name": name, "labels": {"x": "y"}}})

    await services.delete_collection(label_selector="x=y")

    assert await names(client) == set()


async def test_a_service_that_needs_no_address_any_more_gives_it_back(client: Client) -> None:
    services = client.core_v1.services("default")
    made = await services.create(
        service("a", type="NodePort", ports=[{"port": 1, "nodePort": 30007}])
    )

    change = {"type": "ExternalName", "externalName": "example.com"}
    await services.patch("a", {"spec": change})

    assert made.spec.clusterIP not in await names(client)
    await services.create(service("b", type="NodePort", ports=[{"port": 1, "nodePort": 30007}]))


async def test_a_refused_create_and_a_dry_run_leave_no_address_behind(client: Client) -> None:
    services = client.core_v1.services("default")
    await services.create(service("a", clusterIP="10.0.5.5"))

    await services.create(service("dry"), dry_run=True)
    with pytest.raises(AlreadyExists):
        await services.create(service("a"))

    assert await names(client) == {"10.0.5.5"}


async def test_an_address_that_another_program_took_is_not_given_out(client: Client) -> None:
    parent = {"group": "gateway.networking.k8s.io", "resource": "gateways", "name": "g"}
    await addresses(client).create(
        {"metadata": {"name": "10.0.7.7"}, "spec": {"parentRef": parent}}
    )

    with pytest.raises(Invalid, match="provided IP is already allocated"):
        await client.core_v1.services("default").create(service("a", clusterIP="10.0.7.7"))


async def test_an_address_outside_all_ranges_is_refused(client: Client) -> None:
    services = client.core_v1.services("default")

    for outside in ("192.168.0.1", "10.0.0.0", "10.0.255.255"):
        with pytest.raises(Invalid, match="the provided network does not match the current range"):
            await services.create(service("a", clusterIP=outside))


async def test_a_port_that_is_taken_is_refused_and_nothing_is_stored(client: Client) -> None:
    services = client.core_v1.services("default")
    await services.create(service("a", type="NodePort", ports=[{"port": 80, "nodePort": 30080}]))

    with pytest.raises(Invalid, match="provided port is already allocated"):
        await services.create(
            service("b", type="NodePort", ports=[{"port": 80, "nodePort": 30080}])
        )

    assert "b" not in [one.name for one in (await services.list()).items]
    assert len(await names(client)) == 1, "the address of the refused one was given back"


async def test_a_service_made_anew_takes_up_the_port_it_had(client: Client) -> None:
    services = client.core_v1.services("default")
    wanted = service("a", type="NodePort", ports=[{"port": 80, "nodePort": 30081}])
    await services.create(wanted)
    await services.delete("a")

    again = await services.create(wanted)

    assert again["spec"]["ports"][0]["nodePort"] == 30081


async def test_an_address_that_was_lost_is_claimed_again(client: Client) -> None:
    made = await client.core_v1.services("default").create(service("a"))

    await addresses(client).delete(made.spec.clusterIP)

    found = await addresses(client).wait_for(
        made.spec.clusterIP, lambda obj: obj is not None, timeout_s=60
    )
    assert found is not None
    assert found.spec.parentRef.name == "a"


async def test_an_address_whose_service_never_came_is_released() -> None:
    """What a server that crashed between two writes leaves behind."""
    clock = VirtualClock()
    async with running_server(clock=clock) as server, server.client() as client:
        labels = {"ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}
        parent = {"resource": "services", "namespace": "default", "name": "gone"}
        orphan = {"metadata": {"name": "10.0.9.9", "labels": labels}, "spec": {"parentRef": parent}}
        await addresses(client).create(orphan)

        await clock.advance(200)

        await addresses(client).wait_deleted("10.0.9.9", timeout_s=60)


async def test_the_default_range_is_made_again_when_it_was_deleted(client: Client) -> None:
    ranges = client.networking_v1.servicecidrs
    before = await ranges.get("kubernetes")

    await ranges.delete("kubernetes")

    again = await ranges.wait_for(
        "kubernetes", lambda obj: obj is not None and obj.uid != before.uid, timeout_s=60
    )
    assert again is not None
    assert again.to_dict()["spec"]["cidrs"] == ["10.0.0.0/16"]


async def test_two_servers_on_one_etcd_never_give_one_address_twice() -> None:
    """In a range of six addresses, all of which are given out."""
    async with running_etcd() as etcd:
        config = ServerConfig(etcd=tuple(etcd.endpoints))
        async with (
            running_server(config) as one,
            running_server(config) as other,
            one.client() as first,
            other.client() as second,
        ):
            clients = (first, second)

            async def create(index: int) -> str:
                services = clients[index % 2].core_v1.services("default")
                wanted = service(f"s{index}", clusterIP=f"10.0.8.{index // 4 + 1}")
                try:
                    return str((await services.create(wanted)).spec.clusterIP)
                except Invalid:
                    return ""

            given = await asyncio.gather(*(create(index) for index in range(24)))
            claimed = {found.name: found for found in await addresses(first).list()}
            stored = {
                found.spec.clusterIP: found.name
                for found in await second.core_v1.services("default").list()
            }

    assert sorted(filter(None, given)) == [f"10.0.8.{index}" for index in range(1, 7)]
    for address in filter(None, given):
        assert claimed[address].spec.parentRef.name == stored[address]
