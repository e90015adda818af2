"""RuntimeClass: overhead, node selector and tolerations of the class that a pod names."""

from __future__ import annotations

from collections.abc import Awaitable
from fractions import Fraction
from typing import Any

from proreus.api.json_types import Json, JsonObject
from proreus.api.values import quantity
from proreus.server.admission.plugins import lookup
from proreus.server.admission.plugins.refusal import Refused, as_forbidden
from proreus.server.registry.admission import Attributes
from proreus.server.registry.collection import Collection


class RuntimeClass:
    def __init__(self, classes: Collection) -> None:
        self._classes = classes

    def set_overhead(self, attributes: Attributes) -> Awaitable[None] | None:
        """Of a new pod that names a class."""
        spec: dict[str, Any] = (attributes.obj or {}).get("spec") or {}
        name = spec.get("runtimeClassName")
        return None if name is None else self._take_named(attributes, spec, name)

    def check_overhead(self, attributes: Attributes) -> Awaitable[None] | None:
        """Of a new pod, as another plugin may have changed it."""
        spec: dict[str, Any] = (attributes.obj or {}).get("spec") or {}
        name = spec.get("runtimeClassName")
        if name is not None:
            return self._check_named(attributes, spec, name)
        if spec.get("overhead"):
            with as_forbidden(attributes):
                check_overhead(spec, None)
        return None

    async def _take_named(self, attributes: Attributes, spec: JsonObject, name: str) -> None:
        with as_forbidden(attributes):
            take_runtime_class(spec, await self._find(name))

    async def _check_named(self, attributes: Attributes, spec: JsonObject, name: str) -> None:
        with as_forbidden(attributes):
            check_overhead(spec, await self._find(name))

    async def _find(self, name: str) -> Json:
        """Raises Refused."""
        found = await lookup.find(self._classes, name) if name else None
        if found is None:
            raise Refused(f'pod rejected: RuntimeClass "{name}" not found')
        return found


def take_runtime_class(spec: JsonObject, runtime_class: Json) -> None:
    """Overhead, node selector and tolerations of the class that the pod names. Raises Refused."""
    if (overhead := runtime_class.get("overhead")) is not None:
        if spec.get("overhead"):
            check_overhead(spec, runtime_class)
        if fixed := overhead.get("podFixed"):
            spec["overhead"] = dict(fixed)
    _take_scheduling(spec, runtime_class.get("scheduling") or {})


def check_overhead(spec: Json, runtime_class: Json | None) -> None:
    """A pod has the overhead of its class and no other. Raises Refused."""
    overhead = (runtime_class or {}).get("overhead")
    given = _amounts(spec.get("overhead"))
    if overhead is None and given:
        raise Refused(
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        )
    if overhead is not None and given != _amounts(overhead.get("podFixed")):
        raise Refused("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")


def _amounts(resources: Json | None) -> dict[str, Fraction]:
    return {name: quantity.amount(value) for name, value in (resources or {}).items()}


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
    if added := scheduling.get("tolerations"):
        spec["tolerations"] = merged_tolerations([*(spec.get("tolerations") or ()), *added])


def merged_tolerations(every: list[Json]) -> list[Json]:
    """Without those that another one includes; of equal ones the first stays."""
    merged: list[Json] = []
    for index, one in enumerate(every):
        later = (other for other in every[index + 1 :] if other != one)
        if not any(_includes(other, one) for other in (*merged, *later)):
            merged.append(one)
    return merged


def _includes(wide: Json, narrow: Json) -> bool:
    """Whether ``wide`` tolerates all that ``narrow`` does."""
    if wide == narrow:
        return True
    key, effect, operator = (wide.get(name) or "" for name in ("key", "effect", "operator"))
    is_of_all_keys = not key and operator == "Exists"
    if not is_of_all_keys and key != (narrow.get("key") or ""):
        return False
    if effect not in ("", narrow.get("effect") or ""):
        return False
    if effect == "NoExecute" and (seconds := wide.get("tolerationSeconds")) is not None:
        wanted = narrow.get("tolerationSeconds")
        if wanted is None or wanted > seconds:
            return False
    if operator == "Exists":
        return True
    is_equal = operator in ("", "Equal") and narrow.get("operator") == "Equal"
    return is_equal and (wide.get("value") or "") == (narrow.get("value") or "")
