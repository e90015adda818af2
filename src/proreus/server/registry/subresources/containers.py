"""Which container of a pod a request means; Kubernetes' message if that is ambiguous. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.status import BadRequest

_ALL = ("initContainers", "containers", "ephemeralContainers")


def choose_container(pod: Mapping[str, Any], requested: str) -> str:
    """Raises BadRequest."""
    spec, name = pod.get("spec") or {}, pod["metadata"]["name"]
    if requested:
        if not any(requested in _names(spec, key) for key in _ALL):
            raise BadRequest(f"container {requested} is not valid for pod {name}")
        return requested
    names = _names(spec, "containers")
    if len(names) == 1:
        return names[0]
    message = f"a container name must be specified for pod {name}"
    if names:
        known = (one for key in _ALL for one in _names(spec, key))
        message += f", choose one of: [{' '.join(known)}]"
    raise BadRequest(message)


def _names(spec: Mapping[str, Any], key: str) -> list[str]:
    return [container["name"] for container in spec.get(key) or ()]
