"""What EndpointSlices and Endpoints say of pods."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.cluster.controllers.endpoint_slice.controller import endpoints_of, slices_of


def service(**spec: Any) -> KubeObject:
    content = {"selector": {"app": "web"}, "ports": [{"port": 80}], **spec}
    metadata = {"name": "web", "namespace": "d", "uid": "s"}
    kind = {"apiVersion": "v1", "kind": "Service"}
    return KubeObject.from_dict({**kind, "metadata": metadata, "spec": content})


def pod(*, is_ready: bool = True, is_going: bool = False, node: str = "n1") -> KubeObject:
    metadata = {"name": "p", "namespace": "d", "uid": "u"}
    if is_going:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    ready = {"type": "Ready", "status": "True" if is_ready else "False"}
    status = {"phase": "Running", "podIP": "10.1.2.3", "conditions": [ready]}
    spec = {"nodeName": node, "containers": []}
    return KubeObject.from_dict({"metadata": metadata, "spec": spec, "status": status})


@pytest.mark.parametrize(
    ("is_ready", "is_going", "publishes", "ready", "listed"),
    [
        (True, False, False, True, "addresses"),
        (False, False, False, False, "notReadyAddresses"),
        (True, True, False, False, ""),
        (False, False, True, True, "addresses"),
        (True, True, True, True, "addresses"),
        (False, True, True, True, "addresses"),
    ],
)
def test_a_service_that_publishes_unready_addresses_calls_all_of_them_ready(
    is_ready: bool, is_going: bool, publishes: bool, ready: bool, listed: str
) -> None:
    owner = service(publishNotReadyAddresses=publishes)

    slices = slices_of(owner, [pod(is_ready=is_ready, is_going=is_going)])
    subsets = endpoints_of(owner, slices)["subsets"]

    conditions = {"ready": ready, "serving": is_ready, "terminating": is_going}
    assert slices[0]["endpoints"][0]["conditions"] == conditions
    assert [field for subset in subsets for field in subset if field != "ports"] == (
        [listed] if listed else []
    )


@pytest.mark.parametrize(
    ("wish", "hints"),
    [
        (None, None),
        ("PreferClose", {"forZones": [{"name": "z"}]}),
        ("PreferSameZone", {"forZones": [{"name": "z"}]}),
        ("PreferSameNode", {"forZones": [{"name": "z"}], "forNodes": [{"name": "n1"}]}),
    ],
)
def test_endpoints_say_their_zone_and_whom_they_are_for(
    wish: str | None, hints: dict[str, Any] | None
) -> None:
    (made,) = slices_of(service(trafficDistribution=wish), [pod()], {"n1": "z"})

    assert made["endpoints"][0]["zone"] == "z"
    assert made["endpoints"][0].get("hints") == hints


def test_an_endpoint_without_a_zone_or_not_ready_is_for_nobody_in_particular() -> None:
    owner = service(trafficDistribution="PreferClose")

    (nowhere,) = slices_of(owner, [pod()], {})
    (unready,) = slices_of(owner, [pod(is_ready=False)], {"n1": "z"})

    assert "zone" not in nowhere["endpoints"][0]
    assert "hints" not in nowhere["endpoints"][0]
    assert "hints" not in unready["endpoints"][0]
