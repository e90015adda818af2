"""Which condition an API service has, by its service and endpoint slices."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.server.aggregation.availability import PASSED, Availability, of_service, with_condition
from proreus.server.webhooks.client_config import ServiceReference

WHERE = ServiceReference("ns", "s", 443)
HERE = 'service/s in "ns"'


def service(**spec: Any) -> dict[str, Any]:
    return {"spec": {"type": "ClusterIP", "ports": [{"name": "https", "port": 443}], **spec}}


def sliced(port: str | None = "https", **endpoint: Any) -> dict[str, Any]:
    named = {"name": port} if port is not None else {}
    return {
        "endpoints": [{"addresses": ["10.0.0.9"], **endpoint}],
        "ports": [{**named, "port": 8443}],
    }


MISSING = f'endpointslices for {HERE} have no addresses with port name "https"'


@pytest.mark.parametrize(
    ("found", "slices", "reason", "message"),
    [
        (None, [], "ServiceNotFound", f"{HERE} is not present"),
        (
            service(ports=[{"port": 80}]),
            [sliced()],
            "ServicePortError",
            f"{HERE} is not listening on port 443",
        ),
        (service(ports=None), [], "ServicePortError", f"{HERE} is not listening on port 443"),
        (service(), [], "EndpointsNotFound", f"cannot find endpointslices for {HERE}"),
        (service(), [{}], "MissingEndpoints", MISSING),
        (service(), [sliced("http")], "MissingEndpoints", MISSING),
        (service(), [sliced(None)], "MissingEndpoints", MISSING),
        (service(), [sliced(conditions={"ready": False})], "MissingEndpoints", MISSING),
        (service(), [sliced(addresses=[])], "MissingEndpoints", MISSING),
    ],
)
def test_what_is_missing_is_said(
    found: dict[str, Any] | None, slices: list[dict[str, Any]], reason: str, message: str
) -> None:
    assert of_service(WHERE, found, slices) == Availability(False, reason, message)


@pytest.mark.parametrize(
    ("found", "slices"),
    [
        (service(), [sliced()]),
        (service(), [sliced("http"), sliced(conditions={"ready": True})]),
        (service(), [sliced(conditions={})]),
        (service(ports=[{"port": 443}]), [sliced(None)]),
        (service(type="ExternalName", ports=None), []),
        (service(type="NodePort", ports=[{"port": 80}]), []),
    ],
)
def test_what_could_be_there_is_asked(found: dict[str, Any], slices: list[dict[str, Any]]) -> None:
    assert of_service(WHERE, found, slices) is None


def test_a_condition_has_the_time_of_its_last_change_of_status() -> None:
    down = Availability(False, "ServiceNotFound", "gone")
    other = {"type": "Odd", "status": "True"}

    first = with_condition({"conditions": [other]}, down, 0)
    assert first is not None
    same = with_condition(first, down, 10)
    reworded = with_condition(first, Availability(False, "FailedDiscoveryCheck", "no"), 20)
    assert reworded is not None
    up = with_condition(reworded, PASSED, 30)

    assert first["conditions"][0] == other
    assert same is None
    assert reworded["conditions"][1]["lastTransitionTime"] == "1970-01-01T00:00:00Z"
    assert reworded["conditions"][1]["reason"] == "FailedDiscoveryCheck"
    assert up == {
        "conditions": [
            other,
            {
                "type": "Available",
                "status": "True",
                "reason": "Passed",
                "message": "all checks passed",
                "lastTransitionTime": "1970-01-01T00:00:30Z",
            },
        ]
    }
