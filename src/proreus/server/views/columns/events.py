"""Events, always in the core shape they are stored in; both event resources print alike."""

from __future__ import annotations

from proreus.server.views.columns.cells import Object, name_of, since
from proreus.server.views.columns.printer import Cells, Printer, columns


def _fill_event(obj: Object, now: float) -> Cells:
    first = obj.get("firstTimestamp") or obj.get("eventTime")
    last, count = obj.get("lastTimestamp") or first, obj.get("count") or 1
    series = obj.get("series")
    if series:
        last, count = series.get("lastObservedTime"), series.get("count") or 0
    involved = obj.get("involvedObject") or {}
    return [
        since(last, now),
        obj.get("type", ""),
        obj.get("reason", ""),
        _target(involved),
        involved.get("fieldPath", ""),
        _source(obj),
        str(obj.get("message", "")).strip(),
        since(first, now),
        count,
        name_of(obj),
    ]


def _target(involved: Object) -> str:
    kind = str(involved.get("kind", "")).lower()
    return f"{kind}/{involved['name']}" if involved.get("name") else kind


def _source(obj: Object) -> str:
    source = obj.get("source") or {}
    component = source.get("component") or obj.get("reportingComponent") or ""
    host = source.get("host") or obj.get("reportingInstance") or ""
    return f"{component}, {host}" if host else component


PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "Event"): Printer(
        columns(
            "Last Seen", "Type", "Reason", "Object", "Subobject*", "Source*", "Message",
            "First Seen*", "Count*", "Name*",
        ),
        _fill_event,
    ),
}  # fmt: skip
