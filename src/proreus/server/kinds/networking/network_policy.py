"""NetworkPolicy: who may talk to pods."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.addresses import network_warnings
from proreus.server.kinds.parts.cells import age, name_of, selector
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.label_selectors import check_selector
from proreus.server.resource import Generation, Lifecycle, Names, Resource, Rules
from proreus.server.resource.printer import Cells, Printer

_PROTOCOLS = ("TCP", "UDP", "SCTP")
_DIRECTIONS = ("Ingress", "Egress")


def _default(obj: JsonObject) -> None:
    spec = obj["spec"]
    spec.setdefault("podSelector", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for key in ("ingress", "egress"):
        for rule in spec.get(key) or ():
            for port in rule.get("ports") or ():
                port.setdefault("protocol", "TCP")


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    check_selector(found, "spec.podSelector", spec.get("podSelector"))
    for key, peers in (("ingress", "from"), ("egress", "to")):
        for where, rule in items(spec.get(key), f"spec.{key}"):
            for place, port in items(rule.get("ports"), f"{where}.ports"):
                _check_port(found, place, port)
            for place, peer in items(rule.get(peers), f"{where}.{peers}"):
                _check_peer(found, place, peer)
    types = spec.get("policyTypes") or []
    if len(types) > len(_DIRECTIONS):
        found.invalid("spec.policyTypes", types, "may not specify more than two policyTypes")
    else:
        for where, direction in items(types, "spec.policyTypes"):
            found.one_of(where, direction, _DIRECTIONS)
    _check_declared(found, spec)
    return found


def _check_declared(found: Findings, spec: Json) -> None:
    """What the types declare, which is checked last."""
    for key, peers in (("ingress", "from"), ("egress", "to")):
        for where, rule in items(spec.get(key), f"spec.{key}"):
            for place, peer in items(rule.get(peers), f"{where}.{peers}"):
                if (block := peer.get("ipBlock")) is not None:
                    found.require(f"{place}.ipBlock.cidr", block.get("cidr"))


def _check_port(found: Findings, at: str, entry: Json) -> None:
    found.one_of(f"{at}.protocol", entry.get("protocol"), _PROTOCOLS)
    port, end = entry.get("port"), entry.get("endPort")
    if port is None:
        if end is not None:
            why = "may not be specified when `port` is not specified"
            found.invalid(f"{at}.endPort", end, why)
        return
    if isinstance(port, str) and end is not None:
        found.invalid(f"{at}.endPort", end, "may not be specified when `port` is non-numeric")
    found.port_or_name(f"{at}.port", port)
    if end is None or isinstance(port, str):
        return
    if end < port:
        found.invalid(f"{at}.endPort", end, "must be greater than or equal to `port`")
    found.port(f"{at}.endPort", end)


def _check_peer(found: Findings, at: str, peer: Json) -> None:
    given = [key for key in ("podSelector", "namespaceSelector") if peer.get(key) is not None]
    for key in given:
        check_selector(found, f"{at}.{key}", peer[key])
    block = peer.get("ipBlock")
    if block is not None:
        _check_block(found, f"{at}.ipBlock", block)
    if not given and block is None:
        found.require(at, None, "must specify a peer")
    elif given and block is not None:
        found.forbid(at, "may not specify both ipBlock and another peer")


def _check_block(found: Findings, at: str, block: Json) -> None:
    if not block.get("cidr"):
        return
    found.name(f"{at}.cidr", block["cidr"], names.cidr)
    network = names.parse_cidr(block["cidr"])
    if network is None:
        return
    for where, text in items(block.get("except"), f"{at}.except"):
        found.name(where, text, names.cidr)
        part = names.parse_cidr(text)
        if part is None:
            continue
        inside = (
            part.version == network.version
            and part.prefixlen > network.prefixlen
            and part.network_address in network
        )
        if not inside:
            found.invalid(where, text, "must be a strict subset of `cidr`")


def _warnings(obj: JsonObject) -> list[str]:
    found: list[str] = []
    for key, peers in (("ingress", "from"), ("egress", "to")):
        for where, rule in items(obj["spec"].get(key), f"spec.{key}"):
            for place, peer in items(rule.get(peers), f"{where}.{peers}"):
                block = peer.get("ipBlock") or {}
                found += network_warnings(f"{place}.ipBlock.cidr", block.get("cidr") or "")
                for one, network in items(block.get("except"), f"{place}.ipBlock.except"):
                    found += network_warnings(one, network)
    return found


def _fill(obj: Json, now: float) -> Cells:
    chosen = selector((obj.get("spec") or {}).get("podSelector"))
    return [name_of(obj), chosen, age(obj, now)]


RESOURCES = (
    Resource(
        names=Names.of("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "netpol"),
        namespaced=True,
        lifecycle=Lifecycle(generation=Generation()),
        rules=Rules(default=_default, validate=_validate, warnings=_warnings),
        printer=Printer.of(_fill, "Name", "Pod-Selector", "Age"),
    ),
)
