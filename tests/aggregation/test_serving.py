"""Clients reach the groups of another API server through this one as if they were its own."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import httpx

from proreus.testing.server import RunningServer
from tests.aggregation.world import (
    ANN,
    APISERVICES,
    BOB,
    GROUP,
    NAME,
    ROOT,
    WIDGETS,
    asking,
    made,
    register,
    until,
)
from tests.custom.definitions import widget

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


async def grant(admin: httpx.AsyncClient, group: str) -> None:
    """At the front: to do all with widgets."""
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    name = f"widgets-of-{group}"
    rules = [{"apiGroups": [GROUP], "resources": ["*"], "verbs": ["*"]}]
    await made(admin, f"{rbac}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    api = "rbac.authorization.k8s.io"
    await made(
        admin,
        f"{rbac}/clusterrolebindings",
        {
            "metadata": {"name": name},
            "roleRef": {"kind": "ClusterRole", "name": name, "apiGroup": api},
            "subjects": [{"kind": "Group", "name": group, "apiGroup": api}],
        },
    )


async def test_objects_are_written_and_read(
    front: RunningServer, backend: RunningServer, admin: httpx.AsyncClient
) -> None:
    await register(admin, backend)

    created = await made(admin, WIDGETS, widget("one", spec={"size": 3}))
    listed = (await admin.get(WIDGETS)).json()
    patched = await admin.patch(
        f"{WIDGETS}/one",
        content=json.dumps({"spec": {"size": 4}}),
        headers={"Content-Type": "application/merge-patch+json"},
    )
    deleted = await admin.delete(f"{WIDGETS}/one")

    assert created["spec"] == {"size": 3}
    assert [item["metadata"]["name"] for item in listed["items"]] == ["one"]
    assert patched.json()["spec"] == {"size": 4}
    assert deleted.status_code == 200
    async with asking(backend) as there:
        assert (await there.get(WIDGETS)).json()["items"] == []


async def test_a_watch_passes_events_on_as_they_come(
    front: RunningServer, backend: RunningServer, admin: httpx.AsyncClient
) -> None:
    await register(admin, backend)

    async with admin.stream("GET", f"{WIDGETS}?watch=true&timeoutSeconds=60") as answer:
        assert answer.status_code == 200
        lines = answer.aiter_lines()
        for name in ("one", "two"):
            await made(admin, WIDGETS, widget(name))
            async with asyncio.timeout(60):
                event = json.loads(await anext(lines))
            assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", name)


async def test_the_other_server_knows_who_asks_and_the_first_decides_before(
    front: RunningServer, backend: RunningServer, admin: httpx.AsyncClient
) -> None:
    """Ann may at both, Bob at the first alone, and without a grant nobody passes it."""
    await register(admin, backend)
    async with asking(front, ANN) as ann, asking(front, BOB) as bob:
        stopped = await ann.get(WIDGETS)
        await grant(admin, "system:authenticated")

        by_ann, by_bob = await ann.get(WIDGETS), await bob.get(WIDGETS)

    assert stopped.status_code == 403
    assert 'User "ann" cannot list resource "widgets"' in stopped.json()["message"]
    assert by_ann.status_code == 200
    assert by_bob.status_code == 403
    assert 'User "bob" cannot list resource "widgets"' in by_bob.json()["message"]


async def test_it_finds_whom_to_trust_in_a_config_map(
    front: RunningServer, admin: httpx.AsyncClient
) -> None:
    path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    data = (await admin.get(path)).json()["data"]

    files = front.api.credentials.tls
    assert files is not None
    assert data == {
        "client-ca-file": files.authority.certificate.read_text(),
        "requestheader-allowed-names": '["front-proxy-client"]',
        "requestheader-client-ca-file": files.front_proxy_authority.certificate.read_text(),
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-uid-headers": '["X-Remote-Uid"]',
        "requestheader-username-headers": '["X-Remote-User"]',
    }


async def test_discovery_has_its_resources(
    front: RunningServer, backend: RunningServer, admin: httpx.AsyncClient
) -> None:
    await register(admin, backend)
    accept = {"Accept": AGGREGATED}

    def version_of(answer: httpx.Response) -> dict[str, Any]:
        groups = {group["metadata"]["name"]: group for group in answer.json()["items"]}
        found: dict[str, Any] = groups[GROUP]["versions"][0]
        return found

    admin.headers.update(accept)
    found = await until(admin, "/apis", lambda a: version_of(a)["freshness"] == "Current")
    del admin.headers["Accept"]
    groups = [group["name"] for group in (await admin.get("/apis")).json()["groups"]]
    group = (await admin.get(f"/apis/{GROUP}")).json()
    resources = (await admin.get(ROOT)).json()["resources"]

    (listed,) = version_of(found)["resources"]
    assert (listed["resource"], listed["shortNames"]) == ("widgets", ["wd"])
    assert groups.index("storagemigration.k8s.io") < groups.index(GROUP)
    assert group["preferredVersion"] == {"groupVersion": f"{GROUP}/v1", "version": "v1"}
    assert [resource["name"] for resource in resources] == ["widgets"]


async def test_openapi_has_its_schemas(
    front: RunningServer, backend: RunningServer, admin: httpx.AsyncClient
) -> None:
    await register(admin, backend)
    key = f"apis/{GROUP}/v1"

    index = await until(admin, "/openapi/v3", lambda answer: key in answer.json()["paths"])
    document = await admin.get(index.json()["paths"][key]["serverRelativeURL"])
    whole = (await admin.get("/openapi/v2")).json()

    name = "com.example.v1.Widget"
    assert name in document.json()["components"]["schemas"]
    assert name in whole["definitions"]
    assert f"/{key}/namespaces/{{namespace}}/widgets" in whole["paths"]
    assert "/api/v1/namespaces/{namespace}/pods" in whole["paths"]


async def test_an_old_address_of_a_schema_leads_to_the_new_one(
    front: RunningServer, backend: RunningServer, admin: httpx.AsyncClient
) -> None:
    await register(admin, backend)

    answer = await admin.get(f"/openapi/v3/apis/{GROUP}/v1?hash=OLD", follow_redirects=True)

    assert "com.example.v1.Widget" in answer.json()["components"]["schemas"]


async def test_it_goes_with_its_api_service(
    front: RunningServer, backend: RunningServer, admin: httpx.AsyncClient
) -> None:
    await register(admin, backend)
    async with admin.stream("GET", f"{WIDGETS}?watch=true") as watching:
        assert (await admin.delete(f"{APISERVICES}/{NAME}")).status_code == 200

        await until(admin, ROOT, lambda answer: answer.status_code == 404)
        groups = [group["name"] for group in (await admin.get("/apis")).json()["groups"]]

        assert GROUP not in groups
        assert (await admin.get(f"/apis/{GROUP}")).status_code == 404
        assert (await admin.get(WIDGETS)).status_code == 404
        async with asyncio.timeout(60):
            with suppress(httpx.RemoteProtocolError):  # broken off: it is over either way
                assert [piece async for piece in watching.aiter_bytes()] == []
