"""API services of what is served here are kept; those of others follow their services."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from proreus.testing.server import running_server
from tests.aggregation.raw_backend import RawBackend
from tests.aggregation.world import (
    APISERVICES,
    NAME,
    SLICES,
    WIDGETS,
    add_service,
    api_service,
    asking,
    condition,
    endpoint_slice,
    machine_address,
    made,
    until,
    until_reason,
)
from tests.custom.definitions import definition, version

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = {"Content-Type": "application/merge-patch+json"}
LABEL = "kube-aggregator.kubernetes.io/automanaged"


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with running_server() as front, asking(front) as asked:
        yield asked


def is_found(answer: httpx.Response) -> bool:
    return answer.status_code == 200


def is_gone(answer: httpx.Response) -> bool:
    return answer.status_code == 404


async def test_one_of_a_custom_resource_comes_back_and_goes_with_its_definition(
    client: httpx.AsyncClient,
) -> None:
    await made(client, DEFINITIONS, definition(version(), version("v2", storage=False)))
    path = f"{APISERVICES}/{NAME}"
    first = (await until(client, path, is_found)).json()
    await until(client, f"{APISERVICES}/v2.example.com", is_found)

    await client.delete(path)
    again = await until(client, path, is_found)
    await client.patch(path, json={"spec": {"groupPriorityMinimum": 7}}, headers=MERGE)
    await until(client, path, lambda a: a.json()["spec"]["groupPriorityMinimum"] == 1000)
    await client.delete(f"{DEFINITIONS}/widgets.example.com")

    assert first["metadata"]["labels"] == {LABEL: "true"}
    assert again.json()["metadata"]["uid"] != first["metadata"]["uid"]
    await until(client, path, is_gone)
    await until(client, f"{APISERVICES}/v2.example.com", is_gone)


async def test_one_without_the_label_is_its_authors(client: httpx.AsyncClient) -> None:
    """Here it orders a custom group before all others."""
    own: dict[str, Any] = {
        "metadata": {"name": NAME},
        "spec": {"group": "example.com", "version": "v1", "groupPriorityMinimum": 19000,
                 "versionPriority": 5},
    }  # fmt: skip
    await made(client, APISERVICES, own)
    await made(client, DEFINITIONS, definition(version()))

    def second(answer: httpx.Response) -> bool:
        return bool(answer.json()["groups"][1]["name"] == "example.com")

    await until(client, "/apis", second)
    await client.delete(f"{DEFINITIONS}/widgets.example.com")
    await until(client, f"{DEFINITIONS}/widgets.example.com", is_gone)

    found = await client.get(f"{APISERVICES}/{NAME}")
    assert found.json()["spec"] == own["spec"]
    assert condition(found)["reason"] == "Local"


async def test_availability_follows_services_and_endpoint_slices(
    client: httpx.AsyncClient,
) -> None:
    async with RawBackend().running() as backend:
        await made(client, APISERVICES, api_service(None))
        await until_reason(client, "ServiceNotFound")
        await add_service(client)
        await until_reason(client, "EndpointsNotFound")
        unready = endpoint_slice("192.0.2.77", backend.port)
        unready["endpoints"][0]["conditions"] = {"ready": False}
        await made(client, SLICES, unready)
        missing = await until_reason(client, "MissingEndpoints")
        assert (await client.delete(f"{SLICES}/widgets-1")).status_code == 200
        await until_reason(client, "EndpointsNotFound")

    why = 'endpointslices for service/widgets in "default" have no addresses with port name "https"'
    assert missing["message"] == why


async def test_a_server_is_reached_at_its_endpoints(client: httpx.AsyncClient) -> None:
    address = machine_address()
    async with RawBackend().running(host=address) as backend:
        backend.then(lambda asked: asked.answer("200 OK", "here"))
        await add_service(client)
        await made(client, SLICES, endpoint_slice(address, backend.port))
        await made(client, APISERVICES, api_service(backend.authority.cert_pem.bytes()))
        await until_reason(client, "Passed")

        assert (await client.get(f"{WIDGETS}/one")).text == "here"


async def test_one_that_becomes_local_is_available(client: httpx.AsyncClient) -> None:
    await made(client, APISERVICES, api_service(None))
    await until_reason(client, "ServiceNotFound")

    spec = {"service": None, "insecureSkipTLSVerify": None}
    answer = await client.patch(f"{APISERVICES}/{NAME}", json={"spec": spec}, headers=MERGE)

    assert answer.status_code == 200, answer.text
    assert (await until_reason(client, "Local"))["status"] == "True"
