"""Whether a group version of another server can be had: the condition ``Available``. Pure.

A service of the type ClusterIP must have the port and ready endpoints for it; then the server is
asked for its discovery document, which decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from proreus.api.json_types import Json, JsonObject
from proreus.api.values.timestamp import format_time
from proreus.lazy_dataclass import dataclass
from proreus.server.aggregation.api_service import AVAILABLE
from proreus.server.webhooks.client_config import ServiceReference


@dataclass(frozen=True, slots=True)
class Availability:
    """``status``, ``reason`` and ``message`` of the condition."""

    is_available: bool
    reason: str
    message: str


LOCAL = Availability(True, "Local", "Local APIServices are always available")
PASSED = Availability(True, "Passed", "all checks passed")


def failed_check(why: str) -> Availability:
    return Availability(False, "FailedDiscoveryCheck", why)


def of_service(
    reference: ServiceReference, service: Json | None, slices: Sequence[Json]
) -> Availability | None:
    """What the objects alone say; None if nothing speaks against asking the server."""
    where = f'service/{reference.name} in "{reference.namespace}"'
    if service is None:
        return Availability(False, "ServiceNotFound", f"{where} is not present")
    spec = service.get("spec") or {}
    if (spec.get("type") or "ClusterIP") != "ClusterIP":
        return None
    ports = [port for port in spec.get("ports") or () if port.get("port") == reference.port]
    if not ports:
        why = f"{where} is not listening on port {reference.port}"
        return Availability(False, "ServicePortError", why)
    if not slices:
        why = f"cannot find endpointslices for {where}"
        return Availability(False, "EndpointsNotFound", why)
    name = ports[0].get("name") or ""
    if not any(_has_endpoint(one, name) for one in slices):
        why = f'endpointslices for {where} have no addresses with port name "{name}"'
        return Availability(False, "MissingEndpoints", why)
    return None


def _has_endpoint(found: Json, port_name: str) -> bool:
    endpoints: Iterable[Json] = found.get("endpoints") or ()
    is_ready = any(
        (one.get("conditions") or {}).get("ready") is not False and one.get("addresses")
        for one in endpoints
    )
    ports = found.get("ports") or ()
    return is_ready and any((port.get("name") or "") == port_name for port in ports)


def with_condition(status: Json, found: Availability, now: float) -> JsonObject | None:
    """The status that says so; None: it does already."""
    conditions: list[JsonObject] = list(status.get("conditions") or ())
    wanted = {
        "type": AVAILABLE,
        "status": "True" if found.is_available else "False",
        "reason": found.reason,
        "message": found.message,
    }
    before: JsonObject = next((one for one in conditions if one.get("type") == AVAILABLE), {})
    if {**before, **wanted} == before:
        return None
    since = before.get("lastTransitionTime")
    if since is None or before.get("status") != wanted["status"]:
        since = format_time(now)
    made = {**wanted, "lastTransitionTime": since}
    if not before:
        return {**status, "conditions": [*conditions, made]}
    return {**status, "conditions": [made if one is before else one for one in conditions]}
