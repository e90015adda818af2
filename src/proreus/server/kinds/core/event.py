"""Event: what happened to an object, in the core group; kept for an hour, without a watch cache."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.events import (
    FIELD_PATHS,
    INVOLVED,
    PRINTER,
    check_event,
    read_fields,
)
from proreus.server.kinds.parts.findings import Findings
from proreus.server.resource import Lifecycle, Names, Persistence, Resource, Rules, SelectableFields


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    check_event(found, obj, "reportingComponent")
    return found


RESOURCES = (
    Resource(
        names=Names.of("", "v1", "Event", "events", "ev"),
        namespaced=True,
        name_rule=names.path_segment,  # Kubernetes checks no more of them
        persistence=Persistence(ttl_s=3600.0, cached=False),
        lifecycle=Lifecycle(create_on_update=True, may_own=False, garbage_collected=False),
        selectable=SelectableFields(
            names=(
                *(f"involvedObject.{name}" for name in INVOLVED),
                *("reason", "reportingComponent", "source", "type"),
            ),
            read=read_fields,
            own_table=True,
            reads=FIELD_PATHS,
        ),
        rules=Rules(validate=_validate),
        printer=PRINTER,
    ),
)
