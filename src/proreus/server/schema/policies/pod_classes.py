"""Priority classes and runtime classes: what a pod takes over from the class it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.server.schema.policies.refused import Refused

Json = Mapping[str, Any]
JsonObject = dict[str, Any]
_DEFAULT_POLICY = "PreemptLowerPriority"


def take_priority(spec: JsonObject, named: Json | None, default: Json | None) -> None:
    """Set priority and preemption policy of a new pod.

    ``named`` is the class of ``priorityClassName`` (None: there is no such class), ``default`` the
    class marked as the global default, used if the pod names none.
    """
    name = spec.get("priorityClassName") or ""
    if name and named is None:
        raise Refused(f"no PriorityClass with name {name} was found")
    chosen = named if name else default
    if chosen is not None and not name:
        spec["priorityClassName"] = chosen["metadata"]["name"]
    value = (chosen or {}).get("value") or 0
    policy = (chosen or {}).get("preemptionPolicy") or _DEFAULT_POLICY
    given = spec.get("priority")
    if given is not None and given != value:
        raise Refused(
            f"the integer value of priority ({given}) must not be provided in pod spec; priority "
            f"admission controller computed {value} from the given PriorityClass name"
        )
    wanted = spec.get("preemptionPolicy")
    if wanted is not None and wanted != policy:
        raise Refused(
            f"the string value of PreemptionPolicy ({wanted}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name"
        )
    spec["priority"], spec["preemptionPolicy"] = value, policy


def take_runtime_class(spec: JsonObject, runtime_class: Json | None) -> None:
    """Overhead, node selector and tolerations of the class ``runtimeClassName`` names."""
    name = spec.get("runtimeClassName")
    if name is not None and runtime_class is None:
        raise Refused(f'pod rejected: RuntimeClass "{name}" not found')
    overhead = ((runtime_class or {}).get("overhead") or {}).get("podFixed")
    given = spec.get("overhead")
    if given and not overhead:
        raise Refused(
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        )
    if given and given != overhead:
        raise Refused("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
    if overhead:
        spec["overhead"] = dict(overhead)
    _take_scheduling(spec, (runtime_class or {}).get("scheduling") or {})


def _take_scheduling(spec: JsonObject, scheduling: Json) -> None:
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if selector.get(key, value) != value:
            raise Refused(
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {selector[key]}"
            )
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    known = spec.get("tolerations") or []
    added = [entry for entry in scheduling.get("tolerations") or () if entry not in known]
    if added:
        spec["tolerations"] = [*known, *added]
