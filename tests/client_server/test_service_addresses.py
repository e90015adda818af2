"""Cluster addresses and node ports: one owner each, and free again when it is gone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from proreus.api.status import Invalid
from proreus.client import Client
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig


@pytest.fixture
async def client(tmp_path: Any) -> AsyncIterator[Client]:
    kubeconfig = tmp_path / "kubeconfig"
    config = ServerConfig(data_dir=tmp_path, kubeconfig=kubeconfig, tls=True)
    async with ApiServer(config), Client.from_kubeconfig(str(kubeconfig)) as connected:
        yield connected


def service(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"ports": [{"port": 80}], **spec},
    }


async def test_a_service_gets_an_address_of_its_own(client: Client) -> None:
    services = client.core_v1.services("default")

    made = [await services.create(service(f"s{i}")) for i in range(5)]

    assert len({one.spec.clusterIP for one in made}) == 5


async def test_a_port_that_is_taken_is_refused_and_nothing_is_stored(client: Client) -> None:
    services = client.core_v1.services("default")
    await services.create(service("a", type="NodePort", ports=[{"port": 80, "nodePort": 30080}]))

    with pytest.raises(Invalid, match="provided port is already allocated"):
        await services.create(
            service("b", type="NodePort", ports=[{"port": 80, "nodePort": 30080}])
        )

    assert "b" not in [one.name for one in (await services.list()).items]


async def test_a_service_made_anew_takes_up_the_port_it_had(client: Client) -> None:
    services = client.core_v1.services("default")
    wanted = service("a", type="NodePort", ports=[{"port": 80, "nodePort": 30081}])
    await services.create(wanted)
    await services.delete("a")

    again = await services.create(wanted)

    assert again["spec"]["ports"][0]["nodePort"] == 30081
