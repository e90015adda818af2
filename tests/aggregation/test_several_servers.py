"""An aggregated group behind two servers of one etcd."""

from __future__ import annotations

import httpx

from proreus.aio.clock import SystemClock
from proreus.server.config import ServerConfig
from proreus.testing.server import running_server
from tests.aggregation.raw_backend import Asked, RawBackend
from tests.aggregation.world import (
    APISERVICES,
    NAME,
    ROOT,
    WIDGETS,
    add_external,
    api_service,
    asking,
    made,
    until,
    until_reason,
)
from tests.real_etcd import running_etcd


async def test_a_group_that_is_registered_at_one_server_is_served_by_both() -> None:
    backend = RawBackend()

    @backend.then
    async def answer(asked: Asked) -> None:
        await asked.answer("200 OK", "here")

    def is_served(answer: httpx.Response) -> bool:
        return answer.status_code == 200 and answer.text == "here"

    async with running_etcd() as etcd, backend.running():
        config = ServerConfig(etcd=tuple(etcd.endpoints))
        async with (
            running_server(config, SystemClock()) as one,
            running_server(config, SystemClock()) as other,
            asking(one) as at_one,
            asking(other) as at_other,
        ):
            await add_external(at_one)
            wanted = api_service(backend.authority.cert_pem.bytes(), port=backend.port)
            await made(at_one, APISERVICES, wanted)
            for client in (at_one, at_other):
                await until_reason(client, "Passed")
                await until(client, f"{WIDGETS}/one", is_served)
                groups = (await client.get("/apis")).json()["groups"]
                assert "example.com" in [group["name"] for group in groups]

            assert (await at_other.delete(f"{APISERVICES}/{NAME}")).status_code == 200

            for client in (at_one, at_other):
                await until(client, ROOT, lambda answer: answer.status_code == 404)
