"""Ports of a pod's containers that say the same thing twice, or nearly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from proreus.api.json_types import Json
from proreus.server.kinds.parts.findings import items

_COMPARED_MAX = 16  # of one number: a pod has one or two, and all pairs of thousands take hours


def port_warnings(spec: Json, at: str, lists: Sequence[str]) -> Iterator[str]:
    """All containers share the pod's address, so their ports are compared with each other."""
    ports = [
        each
        for key in lists
        for where, container in items(spec.get(key), f"{at}.{key}")
        if container.get("ports")  # nearly never
        for each in items(container["ports"], f"{where}.ports")
    ]
    known: dict[tuple[Any, Any], list[tuple[str, Json]]] = {}
    for place, port in ports:
        if port.get("hostIP") and not port.get("hostPort"):
            yield f"{place}: hostIP set without hostPort: {_go_text(port)}"
        others = known.setdefault((port.get("containerPort"), port.get("protocol")), [])
        for other_place, other in others:
            if how := _clash(port, other):
                yield f"{place}: {how} port definition with {other_place}"
        if len(others) < _COMPARED_MAX:
            others.append((place, port))
    yield from _repeated_names(ports)


def _repeated_names(ports: Sequence[tuple[str, Json]]) -> Iterator[str]:
    first: dict[str, str] = {}
    for place, port in ports:
        if not (name := port.get("name")):
            continue
        if name in first:
            yield (
                f'{place}: duplicate port name "{name}" with {first[name]}, services and probes '
                f"that select ports by name will use {first[name]}"
            )
        first.setdefault(name, place)


def _clash(port: Json, other: Json) -> str:
    number, other_number = port.get("hostPort") or 0, other.get("hostPort") or 0
    host, other_host = port.get("hostIP") or "", other.get("hostIP") or ""
    if (number, host) == (other_number, other_host):
        return "duplicate"
    if not number or not other_number:
        return "overlapping"
    if number == other_number and bool(host) != bool(other_host):
        return "dangerously ambiguous"  # which of the two is reached depends on the node
    return ""


def _go_text(port: Json) -> str:
    """As Go prints a struct."""
    name, number = port.get("name") or "", port.get("containerPort") or 0
    rest = f"Protocol:{port.get('protocol') or ''} HostIP:{port.get('hostIP')}"
    return f"{{Name:{name} HostPort:0 ContainerPort:{number} {rest}}}"
