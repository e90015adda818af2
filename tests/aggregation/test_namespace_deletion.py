"""A namespace that is deleted while a server of further groups is away."""

from __future__ import annotations

import asyncio
import json

from proreus.aio.tasks import background
from proreus.cluster.controllers import CONTROLLERS, run_controllers
from proreus.testing.server import running_server
from tests.aggregation.raw_backend import Asked, RawBackend
from tests.aggregation.world import (
    APISERVICES,
    ROOT,
    SERVICES,
    add_external,
    api_service,
    asking,
    made,
    until_reason,
)
from tests.cluster.controllers.stage import connected
from tests.hurried_clock import HurriedClock
from tests.ports import reserved_port

DISCOVERY = "NamespaceDeletionDiscoveryFailure"
NO_WIDGETS = {"kind": "WidgetList", "apiVersion": "example.com/v1", "metadata": {}, "items": []}
WIDGETS = {
    "name": "widgets",
    "singularName": "widget",
    "namespaced": True,
    "kind": "Widget",
    "verbs": ["list", "delete", "deletecollection"],
}


async def test_it_waits_for_the_group_says_so_and_ends_when_the_group_is_back() -> None:
    backend = RawBackend()
    discovery = {"kind": "APIResourceList", "groupVersion": "example.com/v1"}
    backend.discovery = json.dumps({**discovery, "resources": [WIDGETS]})

    @backend.then
    async def answer(asked: Asked) -> None:
        is_list = asked.path.startswith(f"{ROOT}/namespaces/doomed/widgets")
        body = json.dumps(NO_WIDGETS) if is_list else backend.discovery
        await asked.answer("200 OK", body, "Content-Type: application/json")

    with reserved_port() as port:
        await _delete_beside(backend, port)


async def _delete_beside(backend: RawBackend, port: int) -> None:
    async with running_server() as front, asking(front) as admin, connected(front.api) as client:
        await add_external(admin)
        async with backend.running(port):
            wanted = api_service(backend.authority.cert_pem.bytes(), port=port)
            await made(admin, APISERVICES, wanted)
            await until_reason(admin, "Passed")
        namespaces = client.core_v1.namespaces
        await namespaces.create({"metadata": {"name": "doomed"}})
        looked_again = {"metadata": {"annotations": {"look": "now"}}}
        merge = {"Content-Type": "application/merge-patch+json"}
        await admin.patch(f"{SERVICES}/widgets", json=looked_again, headers=merge)
        await until_reason(admin, "FailedDiscoveryCheck")
        chosen = {"namespace": CONTROLLERS["namespace"]}
        async with background(run_controllers(client, HurriedClock(5), controllers=chosen)):
            await namespaces.delete("doomed")

            held = await namespaces.wait_for("doomed", f"condition={DISCOVERY}", timeout_s=60)

            assert held is not None
            found = {one["type"]: one for one in held.status["conditions"]}
            assert found[DISCOVERY]["reason"] == "DiscoveryFailed"
            assert "example.com/v1" in found[DISCOVERY]["message"]
            async with backend.running(port), asyncio.timeout(60):
                await namespaces.wait_deleted("doomed", timeout_s=60)
