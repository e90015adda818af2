"""What Endpoints and EndpointSlice of the service ``kubernetes`` say. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from proreus.api.json_types import Json, JsonObject

NAMESPACE, NAME = "default", "kubernetes"


def endpoints(addresses: Sequence[str], port: int) -> JsonObject:
    """Without addresses there are no subsets."""
    labels = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    found: JsonObject = {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": labels},
    }
    if addresses:
        subset = {"addresses": [{"ip": one} for one in addresses], "ports": [_port(port)]}
        found["subsets"] = [subset]
    return found


def endpoint_slice(addresses: Sequence[str], port: int) -> JsonObject:
    """All addresses are of one family: that of the first."""
    is_ipv6 = bool(addresses) and ":" in addresses[0]
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": NAME,
            "namespace": NAMESPACE,
            "labels": {"kubernetes.io/service-name": NAME},
        },
        "addressType": "IPv6" if is_ipv6 else "IPv4",
        "endpoints": [{"addresses": [one], "conditions": {"ready": True}} for one in addresses],
        "ports": [_port(port)] if addresses else [],
    }


def service(address: str, port: int) -> JsonObject:
    labels = {"component": "apiserver", "provider": "kubernetes"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "clusterIP": address,
            "clusterIPs": [address],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
    }


def mended(existing: Json, wanted: Json) -> JsonObject | None:
    """The object to write in place of the existing one, None if it says what it should. What others
    added to its metadata stays."""
    metadata = existing["metadata"]
    labels = {**(metadata.get("labels") or {}), **wanted["metadata"]["labels"]}
    changed: JsonObject = {**existing, "metadata": {**metadata, "labels": labels}}
    for field in ("subsets", "endpoints", "ports"):
        if (wanted.get(field) or []) != (existing.get(field) or []):
            changed[field] = wanted.get(field)
    return None if changed == existing else changed


def mended_by_another(existing: Json, wanted: Json) -> JsonObject | None:
    """By a server that is not among the addresses: their port is not its own."""
    subsets = existing.get("subsets") or ()
    ports = existing.get("ports") or (subsets[0].get("ports") if subsets else None)
    if not ports:
        return mended(existing, wanted)
    if "subsets" in wanted:
        subset = {**wanted["subsets"][0], "ports": ports}
        return mended(existing, {**wanted, "subsets": [subset]})
    return mended(existing, {**wanted, "ports": ports} if wanted.get("ports") else wanted)


def mended_service(existing: Json, wanted: Json) -> JsonObject | None:
    """Its port leads to the server that started last; everything else is its users'."""
    ports = wanted["spec"]["ports"]
    if existing["spec"].get("ports") == ports:
        return None
    return {**existing, "spec": {**existing["spec"], "ports": ports}}


def _port(port: int) -> JsonObject:
    return {"name": "https", "port": port, "protocol": "TCP"}
