"""The cells ``kubectl get`` prints of one object."""

from __future__ import annotations

from typing import Any

from tests.unit.server.kinds.creating import resource_of
from tests.unit.server.views.sample import MINUTE_AGO, NOW


def cells(group: str, kind: str, body: dict[str, Any], **metadata: Any) -> list[Any]:
    obj = {"metadata": {"name": "x", "creationTimestamp": MINUTE_AGO, **metadata}, **body}
    printer = resource_of(group, kind).printer
    found = printer.cells(obj, NOW)
    assert len(found) == len(printer.columns)
    return found
