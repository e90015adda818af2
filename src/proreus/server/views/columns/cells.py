"""Pieces that cells of many kinds are made of. All take what may be missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from proreus.api.selectors import LabelSelector, SelectorError
from proreus.api.table import UNKNOWN, human_duration
from proreus.api.values.timestamp import parse_time

NONE = "<none>"
UNSET = "<unset>"
Object = Mapping[str, Any]


def name_of(obj: Object) -> str:
    return str((obj.get("metadata") or {}).get("name") or "")


def age(obj: Object, now: float) -> str:
    return since((obj.get("metadata") or {}).get("creationTimestamp"), now)


def since(time: str | None, now: float) -> str:
    """How long ago; ``<unknown>`` for a time that is not set."""
    moment = unix_time(time)
    return UNKNOWN if moment is None else human_duration(now - moment)


def unix_time(time: str | None) -> float | None:
    return _parse(time) if time else None


@lru_cache(maxsize=4096)
def _parse(time: str) -> float | None:
    # Objects made together share their second, so most rows of a table find theirs here.
    try:
        return parse_time(time)
    except ValueError:
        return None


def is_deleting(obj: Object) -> bool:
    return bool((obj.get("metadata") or {}).get("deletionTimestamp"))


def pairs(labels: Mapping[str, str] | None) -> str:
    """``a=b,c=d`` in order of key."""
    if not labels:
        return NONE
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels))


def selector(spec: Mapping[str, Any] | None) -> str:
    """A label selector of a spec in its text form."""
    return _selector_text(spec) or NONE


def _selector_text(spec: Mapping[str, Any] | None) -> str:
    if not spec:
        return ""
    try:
        return str(LabelSelector.from_object(spec))
    except SelectorError:
        return "<error>"


def selector_or_empty(spec: Mapping[str, Any] | None) -> str:
    return _selector_text(spec)


def container_cells(pod_spec: Object) -> list[str]:
    """Names and images of the containers of a pod spec."""
    containers = pod_spec.get("containers") or ()
    names = ",".join(str(container.get("name", "")) for container in containers)
    return [names, ",".join(str(container.get("image", "")) for container in containers)]


def template_spec(obj: Object) -> Object:
    """``spec.template.spec`` of a workload."""
    template = (obj.get("spec") or {}).get("template") or {}
    found: Object = template.get("spec") or {}
    return found


def shortened(values: Iterable[str], limit: int = 3, total: int | None = None) -> str:
    """``a,b,c + 2 more...``"""
    shown = list(values)
    count = len(shown) if total is None else total
    text = ",".join(shown[:limit])
    return f"{text} + {count - limit} more..." if count > limit else text


def true_false(value: bool | None) -> str:
    return UNSET if value is None else str(bool(value))


def condition(obj: Object, kind: str) -> Mapping[str, Any] | None:
    """The status condition of a type, None if there is none."""
    found: Sequence[Mapping[str, Any]] = (obj.get("status") or {}).get("conditions") or ()
    return next((c for c in found if c.get("type") == kind), None)


def holds(obj: Object, kind: str) -> bool:
    found = condition(obj, kind)
    return found is not None and found.get("status") == "True"


def number(value: Any) -> int:
    return int(value or 0)
