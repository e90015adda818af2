"""Addresses and node ports: given once, on one storage, by however many servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from ipaddress import IPv4Network
from typing import Any

import orjson
import pytest

from proreus.api.status import InternalError, Invalid
from proreus.server.schema.allocation import Ranges, ServiceAllocator
from proreus.server.storage.memory import MemoryStorage
from proreus.testing.virtual_clock import VirtualClock
from tests.unit.server.schema.creating import created, updated

SMALL = Ranges(IPv4Network("10.0.0.0/29"), range(30000, 30003))  # six addresses, three ports


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
async def storage(clock: VirtualClock) -> AsyncIterator[MemoryStorage]:
    async with MemoryStorage.open(clock) as opened:
        yield opened


@pytest.fixture
def allocator(storage: MemoryStorage, clock: VirtualClock) -> ServiceAllocator:
    return ServiceAllocator(storage, clock, SMALL)


def service(name: str = "a", **spec: Any) -> dict[str, Any]:
    return created("v1", "Service", metadata={"name": name}, spec={"ports": [{"port": 80}], **spec})


async def claimed(storage: MemoryStorage, prefix: str) -> list[str]:
    page = await storage.list(prefix)
    return [item.key.rpartition("/")[2] for item in page.items]


async def addresses(storage: MemoryStorage) -> list[str]:
    return await claimed(storage, "/registry/ipaddresses/")


async def ports(storage: MemoryStorage) -> list[str]:
    return await claimed(storage, "/registry/ranges/servicenodeports/")


async def test_a_service_gets_an_address_and_ports(
    allocator: ServiceAllocator, storage: MemoryStorage
) -> None:
    made = service(type="LoadBalancer", externalTrafficPolicy="Local")

    await allocator.allocate(made)

    spec = made["spec"]
    assert spec["clusterIPs"] == [spec["clusterIP"]]
    assert await addresses(storage) == [spec["clusterIP"]]
    assert sorted(await ports(storage)) == sorted(
        str(port) for port in (spec["ports"][0]["nodePort"], spec["healthCheckNodePort"])
    )


@pytest.mark.parametrize("spec", [{"clusterIP": "None"}, {"type": "ExternalName"}])
async def test_some_services_need_nothing(
    spec: dict[str, Any], allocator: ServiceAllocator, storage: MemoryStorage
) -> None:
    made = service(**spec)

    await allocator.allocate(made)

    assert await addresses(storage) == []
    assert made["spec"].get("clusterIP") == spec.get("clusterIP")


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            {"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]},
            "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. "
            "The range of valid ports is 30000-30002",
        ),
        (
            {
                "type": "NodePort",
                "ports": [{"port": 1, "nodePort": 30001}, {"port": 2, "nodePort": 30001}],
            },
            "spec.ports[1].nodePort: Invalid value: 30001: provided port is already allocated",
        ),
        (
            {"clusterIP": "192.168.7.7"},
            'spec.clusterIPs: Invalid value: ["192.168.7.7"]: failed to allocate IP 192.168.7.7: '
            "the provided IP (192.168.7.7) is not in the valid range. The range of valid IPs is "
            "10.0.0.0/29",
        ),
    ],
)
async def test_a_wish_that_cannot_be_met_is_refused_and_leaves_nothing(
    spec: dict[str, Any], problem: str, allocator: ServiceAllocator, storage: MemoryStorage
) -> None:
    with pytest.raises(Invalid) as caught:
        await allocator.allocate(service(**spec))

    assert caught.value.message == f'Service "a" is invalid: {problem}'
    assert await addresses(storage) == []
    assert await ports(storage) == []


async def test_two_protocols_of_a_service_may_share_a_port(allocator: ServiceAllocator) -> None:
    both = [
        {"name": "t", "port": 53, "nodePort": 30001},
        {"name": "u", "port": 53, "nodePort": 30001, "protocol": "UDP"},
    ]

    await allocator.allocate(service(type="NodePort", ports=both))


async def test_an_address_is_given_once_until_the_range_is_full(
    allocator: ServiceAllocator,
) -> None:
    made = [service(f"s{index}") for index in range(6)]

    await asyncio.gather(*(allocator.allocate(each) for each in made))

    assert len({each["spec"]["clusterIP"] for each in made}) == 6
    with pytest.raises(InternalError, match="range is full"):
        await allocator.allocate(service("one-too-many"))


async def test_a_wish_for_a_taken_address_is_refused(allocator: ServiceAllocator) -> None:
    await allocator.allocate(service(clusterIP="10.0.0.3"))

    with pytest.raises(Invalid, match="provided IP is already allocated"):
        await allocator.allocate(service("b", clusterIP="10.0.0.3"))


async def test_a_failed_write_gives_back_what_it_claimed(
    allocator: ServiceAllocator, storage: MemoryStorage
) -> None:
    allocation = await allocator.allocate(service(type="NodePort"))

    await allocation.undo()

    assert await addresses(storage) == []
    assert await ports(storage) == []


async def test_an_update_claims_the_new_and_settles_the_old(
    allocator: ServiceAllocator, storage: MemoryStorage
) -> None:
    old = service(type="NodePort")
    await allocator.allocate(old)
    address = old["spec"]["clusterIP"]
    new, _ = updated(old, {"spec": {"type": "ClusterIP"}})

    allocation = await allocator.allocate(new, old)
    assert len(await ports(storage)) == 1  # not before the write has succeeded
    await allocation.settle()

    assert new["spec"]["clusterIP"] == address
    assert await addresses(storage) == [address]
    assert await ports(storage) == []


async def test_a_deleted_service_frees_everything_and_nothing_of_others(
    allocator: ServiceAllocator, storage: MemoryStorage
) -> None:
    mine, other = service(type="NodePort"), service("b", type="NodePort")
    await allocator.allocate(mine)
    await allocator.allocate(other)

    await allocator.release(mine)
    await allocator.release(mine | {"spec": other["spec"]})

    assert await addresses(storage) == [other["spec"]["clusterIP"]]
    assert len(await ports(storage)) == 1


async def test_a_dry_run_claims_nothing(
    allocator: ServiceAllocator, storage: MemoryStorage
) -> None:
    made = service(type="NodePort")

    await allocator.allocate(made, dry_run=True)

    assert made["spec"]["clusterIP"].startswith("10.0.0.")
    assert made["spec"]["ports"][0]["nodePort"] in SMALL.ports
    assert await addresses(storage) == []


async def test_a_claim_whose_server_died_is_taken_over_later(
    allocator: ServiceAllocator, storage: MemoryStorage, clock: VirtualClock
) -> None:
    await allocator.allocate(service("lost", clusterIP="10.0.0.3"))  # never written

    with pytest.raises(Invalid):
        await allocator.allocate(service("soon", clusterIP="10.0.0.3"))
    await clock.advance(121)
    await allocator.allocate(service("later", clusterIP="10.0.0.3"))

    found = await storage.get("/registry/ipaddresses/10.0.0.3")
    assert found is not None
    assert orjson.loads(found.value)["spec"]["parentRef"]["name"] == "later"


async def test_a_claim_in_use_is_never_taken_over(
    allocator: ServiceAllocator, storage: MemoryStorage, clock: VirtualClock
) -> None:
    living = service("living", clusterIP="10.0.0.3")
    await allocator.allocate(living)
    await storage.create("/registry/services/specs/n/living", orjson.dumps(living))

    await clock.advance(10_000)

    with pytest.raises(Invalid, match="already allocated"):
        await allocator.allocate(service("greedy", clusterIP="10.0.0.3"))
