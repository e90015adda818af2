"""Where a Service's pods answer, as slices and as Endpoints."""

from __future__ import annotations

from typing import Any

from proreus.api.object import KubeObject
from tests.cluster.controllers.stage import Stage, running, template

CONTROLLERS = ("endpointslice", "replicaset", "garbage-collector")


def service(name: str) -> dict[str, Any]:
    port = {"name": "http", "port": 80, "targetPort": 8080}
    return {"metadata": {"name": name}, "spec": {"selector": {"app": name}, "ports": [port]}}


async def test_pods_come_into_the_slice_when_ready_and_leave_it_when_gone(stage: Stage) -> None:
    pods = stage.client.core_v1.pods("default")
    await stage.client.core_v1.services("default").create(service("web"))
    body = template({"app": "web"})
    await pods.create({**body, "metadata": {"name": "one", **body["metadata"]}})
    endpoints = stage.client.core_v1.endpoints("default")

    def has_address(obj: KubeObject | None) -> bool:
        return bool(obj and obj.subsets and obj.subsets[0].addresses)

    found = await stage.wait(endpoints, "web", has_address)
    assert found is not None
    assert found.subsets[0].addresses[0].ip == "10.1.2.3"
    assert found.subsets[0].ports == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    slices = stage.client.discovery_v1.endpointslices("default")
    (one,) = (await slices.list(label_selector="kubernetes.io/service-name=web")).items
    assert one["endpoints"][0]["conditions"] == {
        "ready": True,
        "serving": True,
        "terminating": False,
    }

    await pods.patch_status("one", running(ready=False), type="strategic")
    await stage.wait(endpoints, "web", lambda it: it and it.subsets[0].notReadyAddresses)
    await pods.delete("one")
    await stage.wait(endpoints, "web", lambda it: it and not it.subsets)
    (left,) = (await slices.list(label_selector="kubernetes.io/service-name=web")).items
    assert not left.endpoints


async def test_the_slices_of_a_deleted_service_go_with_it(stage: Stage) -> None:
    services = stage.client.core_v1.services("default")
    await services.create(service("web"))
    await stage.wait(stage.client.core_v1.endpoints("default"), "web", lambda it: it is not None)
    slices = stage.client.discovery_v1.endpointslices("default")
    (one,) = (await slices.list(label_selector="kubernetes.io/service-name=web")).items

    await services.delete("web")

    await slices.wait_deleted(one.name, timeout_s=60)


async def test_a_pod_with_a_name_in_its_service_is_listed_by_it(stage: Stage) -> None:
    await stage.client.core_v1.services("default").create(service("web"))
    body = template({"app": "web"}, hostname="web-0", subdomain="web")
    named = {**body, "metadata": {"name": "web-0", **body["metadata"]}}
    await stage.client.core_v1.pods("default").create(named)

    def has_name(obj: KubeObject | None) -> bool:
        listed = (obj.subsets if obj is not None else None) or ()
        return any(one.get("hostname") == "web-0" for part in listed for one in part.addresses)

    await stage.wait(stage.client.core_v1.endpoints("default"), "web", has_name)


async def test_what_is_behind_a_service_without_an_address_says_so(stage: Stage) -> None:
    services = stage.client.core_v1.services("default")
    labels = {"team": "a", "service.kubernetes.io/headless": "mine"}
    for name, address in (("bare", {"clusterIP": "None"}), ("web", {})):
        wish = service(name)
        await services.create(
            {"metadata": {"name": name, "labels": labels}, "spec": {**wish["spec"], **address}}
        )

    found = [
        await stage.wait(stage.client.core_v1.endpoints("default"), name, lambda it: it is not None)
        for name in ("bare", "web")
    ]

    said = {"team": "a", "endpoints.kubernetes.io/managed-by": "endpoint-controller"}
    assert [dict(one.labels) for one in found if one] == [
        {**said, "service.kubernetes.io/headless": ""},
        said,
    ]
    slices = stage.client.discovery_v1.endpointslices("default")
    marked = await slices.list(label_selector="service.kubernetes.io/headless")
    assert [one.labels["kubernetes.io/service-name"] for one in marked.items] == ["bare"]
