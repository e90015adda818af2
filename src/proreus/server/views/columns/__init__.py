"""Printers: the columns of a kind and how one object fills them (spec/server §8.3).

``printer_for`` finds the printer of a stored type. Kinds without one show name and creation time.
"""

from __future__ import annotations

from proreus.api.group_version import GroupKind
from proreus.server.views.columns import (
    cluster,
    configuration,
    devices,
    events,
    extensions,
    network,
    pods,
    policies,
    volumes,
    workloads,
)
from proreus.server.views.columns.printer import DEFAULT, Printer

__all__ = ["DEFAULT", "Printer", "printer_for"]

_PRINTERS: dict[tuple[str, str], Printer] = {
    **pods.PRINTERS,
    **workloads.PRINTERS,
    **network.PRINTERS,
    **cluster.PRINTERS,
    **configuration.PRINTERS,
    **events.PRINTERS,
    **volumes.PRINTERS,
    **policies.PRINTERS,
    **extensions.PRINTERS,
    **devices.PRINTERS,
}


def printer_for(kind: GroupKind) -> Printer:
    return _PRINTERS.get((kind.group, kind.kind), DEFAULT)
