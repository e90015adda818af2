"""Events, in the shape of the core group, which both groups store: fields, rules, columns.

An event with an eventTime is of the newer form and must name its reporter and its reason. The newer
group refuses the older form, and calls the reporter by another name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.cells import name_of, since
from proreus.server.kinds.parts.findings import Findings
from proreus.server.resource import Cells, Printer
from proreus.server.resource.selectable import as_text, dig

INVOLVED = ("apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid")
_INVOLVED_PATHS = tuple(f"involvedObject.{name}" for name in INVOLVED)
FIELD_PATHS = ("involvedObject", "reportingComponent", "source", "reason", "type")
_TEXT_MAX, _MESSAGE_MAX = 128, 1024


def read_fields(obj: Mapping[str, Any]) -> dict[str, str]:
    involved, component = obj.get("involvedObject") or {}, obj.get("reportingComponent") or ""
    source = dig(obj, ("source", "component")) or component
    return {
        **dict(zip(_INVOLVED_PATHS, map(as_text, map(involved.get, INVOLVED)), strict=True)),
        "reason": as_text(obj.get("reason")),
        "type": as_text(obj.get("type")),
        "reportingComponent": component,
        "source": source,
    }


def _fill(obj: Json, now: float) -> Cells:
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


def _target(involved: Json) -> str:
    kind = str(involved.get("kind", "")).lower()
    return f"{kind}/{involved['name']}" if involved.get("name") else kind


def _source(obj: Json) -> str:
    source = obj.get("source") or {}
    component = source.get("component") or obj.get("reportingComponent") or ""
    host = source.get("host") or obj.get("reportingInstance") or ""
    return f"{component}, {host}" if host else component


PRINTER = Printer.of(
    _fill, "Last Seen", "Type", "Reason", "Object", "Subobject*", "Source*", "Message",
    "First Seen*", "Count*", "Name*",
)  # fmt: skip


def check_event(found: Findings, obj: JsonObject, reporter: str) -> None:
    namespace = obj["metadata"].get("namespace") or ""
    about = (obj.get("involvedObject") or {}).get("namespace") or ""
    # The newer form may be about an object in another namespace, but not about one in none.
    is_newer = bool(obj.get("eventTime"))
    free = ("default", "kube-system") if is_newer else ("", "default")
    if (not about and namespace not in free) or (about not in ("", namespace) and not is_newer):
        found.invalid("involvedObject.namespace", about, "does not match event.namespace")
    if not is_newer:
        return
    name = obj.get("reportingComponent") or ""
    found.require(reporter, name)
    found.name(reporter, name, names.qualified_name)
    for key in ("reportingInstance", "action", "reason"):
        if found.require(key, obj.get(key)) and len(obj[key]) > _TEXT_MAX:
            found.invalid(key, "", f"can have at most {_TEXT_MAX} characters")
    if len(obj.get("message") or "") > _MESSAGE_MAX:
        found.invalid("message", "", f"can have at most {_MESSAGE_MAX} characters")
