"""What a pod asks for and a node has, as integers: CPU in thousandths, the rest in units.

A pod's request is the larger of what its containers need together and what the neediest moment of
its init containers needs; init containers that restart always (sidecars) stay and count with both.
What the pod requests as a whole counts instead. While a pod is resized, a container counts with the
larger of what it has and what it asks for; if its node can never give it that, with what it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from proreus.api.json_types import Json
from proreus.api.values import quantity

CPU = "cpu"
MEMORY = "memory"
PODS = "pods"


@lru_cache(8192)
def _units(name: str, text: str) -> int:
    amount = quantity.parse(text).amount * (1000 if name == CPU else 1)
    return -int(-amount // 1)  # rounded up: a fraction of a unit is still needed


def read(amounts: Json | None) -> dict[str, int]:
    """A resource list of an object as integers."""
    return {name: _units(name, str(value)) for name, value in (amounts or {}).items()}


def requests_of(pod_spec: Json, status: Json | None = None) -> dict[str, int]:
    """What the scheduler must find free on a node for this pod, without counting the pod itself.
    ``status``: of a pod that may be being resized."""
    running: dict[str, int] = {}
    given = _given(status) if status else {}
    is_refused = _is_infeasible(status) if status else False
    for container in pod_spec.get("containers") or ():
        _add(running, _resized(container, given, is_refused) if given else _requests(container))
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in pod_spec.get("initContainers") or ():
        needed = _resized(container, given, is_refused) if given else _requests(container)
        if container.get("restartPolicy") == "Always":
            _add(sidecars, needed)
            needed = {}
        _raise_to(peak, _sum((needed, sidecars)))
    total = _sum((running, sidecars))
    _raise_to(total, peak)
    if whole := pod_spec.get("resources"):
        total |= {
            name: units
            for name, units in _requests({"resources": whole}).items()
            if _is_of_pods(name)
        }
    _add(total, read(pod_spec.get("overhead")))
    return total


def _is_of_pods(name: str) -> bool:
    """Whether a pod can request it as a whole."""
    return name in (CPU, MEMORY) or name.startswith("hugepages-")


def _given(status: Json) -> dict[str, dict[str, int]]:
    """By container, what it was given and runs with."""
    found: dict[str, dict[str, int]] = {}
    for field in ("initContainerStatuses", "containerStatuses"):
        for one in status.get(field) or ():
            if one.get("resources") is not None:
                has = found[one["name"]] = read(one["resources"].get("requests"))
                _raise_to(has, read(one.get("allocatedResources")))
    return found


def _resized(
    container: Json, given: Mapping[str, dict[str, int]], is_refused: bool
) -> dict[str, int]:
    has = given.get(container["name"])
    if has is None:
        return _requests(container)
    needed = dict(has)
    if not is_refused:
        _raise_to(needed, _requests(container))
    return needed


def _is_infeasible(status: Json) -> bool:
    return any(
        one.get("type") == "PodResizePending" and one.get("reason") == "Infeasible"
        for one in status.get("conditions") or ()
    )


def _requests(container: Json) -> dict[str, int]:
    resources = container.get("resources") or {}
    # A limit without a request is the request; the API server defaults it, others may not.
    return {**read(resources.get("limits")), **read(resources.get("requests"))}


def _sum(amounts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for amount in amounts:
        _add(total, amount)
    return total


def _add(total: dict[str, int], amount: Mapping[str, int]) -> None:
    for name, units in amount.items():
        total[name] = total.get(name, 0) + units


def _raise_to(total: dict[str, int], floor: Mapping[str, int]) -> None:
    for name, units in floor.items():
        if units > total.get(name, 0):
            total[name] = units
