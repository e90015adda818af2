"""The roles and bindings that every cluster has, made or mended when a server starts.

``bootstrap_policy.jsonl`` has them as kube-apiserver makes them, one object per line.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from proreus.api.json_types import JsonObject
from proreus.api.wire import json
from proreus.server.authz.rbac.following import GROUP
from proreus.server.authz.rbac.reconciliation import AUTO_UPDATE, reconciled
from proreus.server.registry.server_objects import ObjectSet, ServerObject

_FILE = "bootstrap_policy.jsonl"


@cache
def bootstrap_policy() -> tuple[ServerObject, ...]:
    """In no particular order."""
    lines = Path(__file__).with_name(_FILE).read_bytes().splitlines()
    return tuple(map(_parsed, lines))


def _parsed(line: bytes) -> ServerObject:
    entry: JsonObject = json.decode(line)
    labels = {"kubernetes.io/bootstrapping": "rbac-defaults", **entry.pop("labels", {})}
    metadata = {"annotations": {AUTO_UPDATE: "true"}, "labels": labels}
    metadata |= {key: entry.pop(key) for key in ("namespace", "name") if key in entry}
    if "roleRef" in entry:
        entry["roleRef"]["apiGroup"] = GROUP
    if "aggregationRule" in entry:
        entry["rules"] = None  # until a controller collects them
    obj = {"apiVersion": f"{GROUP}/v1", **entry, "metadata": metadata}
    return ServerObject.of(f"{obj['kind'].lower()}s", obj)


def bootstrap_roles() -> ObjectSet:
    return ObjectSet(bootstrap_policy(), reconciled)
