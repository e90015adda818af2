"""DefaultTolerationSeconds: a pod stays five minutes on a node that fails, or as it says itself."""

from __future__ import annotations

from typing import Any

from proreus.api.json_types import JsonObject
from proreus.server.registry.admission import Attributes

_TOLERATED_S = 300
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def add_default_tolerations(attributes: Attributes) -> None:
    """To a pod that is created or updated."""
    assert attributes.obj is not None, "a write has an object"
    tolerate(attributes.obj.setdefault("spec", {}))


def tolerate(spec: JsonObject) -> None:
    given = spec.get("tolerations") or ()
    missing = [taint for taint in _TAINTS if not _tolerates(given, taint)]
    if missing:
        spec["tolerations"] = [
            *given,
            *(
                {
                    "effect": "NoExecute",
                    "key": taint,
                    "operator": "Exists",
                    "tolerationSeconds": _TOLERATED_S,
                }
                for taint in missing
            ),
        ]


def _tolerates(tolerations: Any, taint: str) -> bool:
    for toleration in tolerations:
        covers = toleration.get("key", "") in ("", taint)
        if covers and toleration.get("effect", "") in ("", "NoExecute"):
            return True
    return False
