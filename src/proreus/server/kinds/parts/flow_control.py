"""The flow schemas and priority levels that every cluster has.

``flow_control.jsonl`` has them as kube-apiserver makes them, one object per line. Two of each are
mandatory: their specs are fixed, and they are made again whenever they are gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from proreus.api.json_types import Json, JsonObject
from proreus.api.wire import json
from proreus.server.kinds.parts.findings import Findings, repeats

GROUP = "flowcontrol.apiserver.k8s.io"
API_VERSION = f"{GROUP}/v1"
AUTO_UPDATE = "apf.kubernetes.io/autoupdate-spec"
MANDATORY = frozenset({"exempt", "catch-all"})
SCHEMA_KIND, LEVEL_KIND = "FlowSchema", "PriorityLevelConfiguration"
_FILE = "flow_control.jsonl"


def bootstrap_objects() -> Iterator[JsonObject]:
    """Whole objects, levels before the schemas that refer to them."""
    for line in _lines():
        entry: JsonObject = json.decode(line)
        metadata = {"name": entry["name"], "annotations": {AUTO_UPDATE: "true"}}
        yield {
            "apiVersion": API_VERSION,
            "kind": entry["kind"],
            "metadata": metadata,
            "spec": entry["spec"],
        }


@cache
def _lines() -> list[bytes]:
    return Path(__file__).with_name(_FILE).read_bytes().splitlines()


@cache
def fixed_specs(kind: str) -> dict[str, JsonObject]:
    """Of the mandatory objects of a kind, by name."""
    return {
        obj["metadata"]["name"]: obj["spec"]
        for obj in bootstrap_objects()
        if obj["kind"] == kind and obj["metadata"]["name"] in MANDATORY
    }


def check_conditions(found: Findings, obj: Json) -> None:
    """Of the status: each type once."""
    kinds = [one.get("type") or "" for one in (obj.get("status") or {}).get("conditions") or ()]
    for where, kind, is_repeated in repeats(kinds, "status.conditions"):
        if is_repeated:
            found.duplicate(f"{where}.type", kind)
        found.require(f"{where}.type", kind, "must not be empty")
