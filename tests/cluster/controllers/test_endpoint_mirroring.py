"""Endpoints that users write for Services without a selector, as slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proreus.api.object import KubeObject
from tests.cluster.controllers.stage import Stage
from tests.following import wait_for_list

CONTROLLERS = ("endpointslice", "endpointslice-mirroring", "garbage-collector")


def endpoints(*addresses: str, port: int = 80, **metadata: Any) -> dict[str, Any]:
    subset = {"addresses": [{"ip": ip} for ip in addresses], "ports": [{"port": port}]}
    return {"metadata": {"name": "own", **metadata}, "subsets": [subset]}


async def service(stage: Stage, **spec: Any) -> None:
    port = {"name": "example", "port": 80}
    body = {"metadata": {"name": "own"}, "spec": {"ports": [port], **spec}}
    await stage.client.core_v1.services("default").create(body)


Wanted = tuple[str, int, list[str]]


async def wait_mirrored(stage: Stage, *wanted: Wanted) -> list[KubeObject]:
    """Until the slices of the Service have these families, ports and addresses."""
    slices = stage.client.discovery_v1.endpointslices("default")
    return await wait_for_list(
        slices,
        lambda found: sorted(map(summary, found)) == sorted(wanted),
        label_selector="kubernetes.io/service-name=own",
    )


def summary(one: KubeObject) -> Wanted:
    addresses = [address for it in one["endpoints"] or () for address in it["addresses"]]
    return one["addressType"], one["ports"][0]["port"], addresses


async def test_endpoints_are_mirrored_changed_and_removed(stage: Stage) -> None:
    await service(stage)
    api = stage.client.core_v1.endpoints("default")

    await api.create(endpoints("10.1.2.3", labels={"team": "a"}))
    (made,) = await wait_mirrored(stage, ("IPv4", 80, ["10.1.2.3"]))
    assert dict(made.labels) == {
        "team": "a",
        "kubernetes.io/service-name": "own",
        "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
    }
    assert made["endpoints"][0]["conditions"] == {"ready": True}

    await api.replace(endpoints("10.2.3.4", port=81))
    (changed,) = await wait_mirrored(stage, ("IPv4", 81, ["10.2.3.4"]))
    assert changed.name == made.name

    await api.delete("own")
    await wait_mirrored(stage)


async def test_annotations_of_endpoints_come_and_go_with_them(stage: Stage) -> None:
    await service(stage)
    api = stage.client.core_v1.endpoints("default")
    slices = stage.client.discovery_v1.endpointslices("default")

    def are(**wanted: str) -> Callable[[KubeObject | None], bool]:
        return lambda one: one is not None and dict(one.annotations) == wanted

    await api.create(endpoints("10.1.2.3", annotations={"owner": "a"}))
    (made,) = await wait_mirrored(stage, ("IPv4", 80, ["10.1.2.3"]))
    assert are(owner="a")(made)
    await api.patch("own", {"metadata": {"annotations": {"owner": "b", "more": "c"}}})
    await slices.wait_for(made.name, are(owner="b", more="c"), timeout_s=60)
    applied = "kubectl.kubernetes.io/last-applied-configuration"
    await api.patch("own", {"metadata": {"annotations": {"owner": None, applied: "{}"}}})
    await slices.wait_for(made.name, are(more="c"), timeout_s=60)


async def test_each_set_of_ports_and_family_has_a_slice(stage: Stage) -> None:
    await service(stage)
    body = endpoints("10.1.2.3", "10.1.2.4", "2001:db8::1")
    more = {"notReadyAddresses": [{"ip": "10.1.2.5", "nodeName": "n"}], "ports": [{"port": 81}]}
    body["subsets"].append(more)

    await stage.client.core_v1.endpoints("default").create(body)

    found = await wait_mirrored(
        stage,
        ("IPv4", 80, ["10.1.2.3", "10.1.2.4"]),
        ("IPv4", 81, ["10.1.2.5"]),
        ("IPv6", 80, ["2001:db8::1"]),
    )
    (unready,) = [one["endpoints"][0] for one in found if one["ports"][0]["port"] == 81]
    assert (unready["conditions"], unready["nodeName"]) == ({"ready": False}, "n")


async def test_a_service_that_selects_and_endpoints_that_ask_for_it_are_left_alone(
    stage: Stage,
) -> None:
    skip = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    api = stage.client.core_v1.endpoints("default")
    await service(stage)
    await api.create(endpoints("10.1.2.3"))
    await wait_mirrored(stage, ("IPv4", 80, ["10.1.2.3"]))

    await api.patch("own", {"metadata": {"labels": skip}})
    await wait_mirrored(stage)
    await api.patch("own", {"metadata": {"labels": dict.fromkeys(skip)}})
    await wait_mirrored(stage, ("IPv4", 80, ["10.1.2.3"]))

    services = stage.client.core_v1.services("default")
    await services.patch("own", {"spec": {"selector": {"app": "own"}}})
    (own,) = await wait_mirrored(stage, ("IPv4", 80, []))
    assert own["metadata"]["ownerReferences"][0].kind == "Service"
