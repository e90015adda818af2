"""Which container of a pod a request means, in Kubernetes' words if it cannot be told. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.status import BadRequest

_ALL = ("containers", "initContainers", "ephemeralContainers")


def choose_container(pod: Mapping[str, Any], asked: str) -> str:
    """Raises BadRequest."""
    spec, name = pod.get("spec") or {}, pod["metadata"]["name"]
    if asked:
        if not any(asked in _names(spec, key) for key in _ALL):
            raise BadRequest(f"container {asked} is not valid for pod {name}")
        return asked
    names = _names(spec, "containers")
    if len(names) == 1:
        return names[0]
    message = f"a container name must be specified for pod {name}"
    if names:
        message += f", choose one of: [{' '.join(names)}]"
        if init := _names(spec, "initContainers"):
            message += f" or one of the init containers: [{' '.join(init)}]"
    raise BadRequest(message)


def _names(spec: Mapping[str, Any], key: str) -> list[str]:
    return [container["name"] for container in spec.get(key) or ()]
