"""What patches, field ownership and the codecs of bodies cost, on a pod of about 3.7 kB."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from time import process_time
from typing import Any

from benchmarks.report import Row
from benchmarks.schema import pod
from proreus.api.group_version import GroupVersionKind
from proreus.api.patch.apply import entries_after, ownership_update, server_side_apply
from proreus.api.patch.json_patch import apply_json_patch
from proreus.api.patch.merge_patch import apply_merge_patch
from proreus.api.patch.ownership import Endpoint, without_owners
from proreus.api.patch.strategic_merge import apply_strategic_merge
from proreus.api.typed import TypeNode
from proreus.api.wire import json, protobuf, strict_json, yaml
from proreus.server.schema.check import check
from proreus.server.schema.definitions import Definitions

_POD = GroupVersionKind("", "v1", "Pod")
_NOW = 1_794_787_200.0
_ONE_FIELD = {"spec": {"containers": [{"name": "web", "image": "web:2"}]}}


def run() -> list[Row]:
    node = Definitions.load().node(_POD)
    assert node is not None
    endpoint = Endpoint(reset=(("status",),), empty=check(node, {}).value)
    where: dict[str, Any] = {"now": _NOW, "api_version": "v1", "endpoint": endpoint}
    given = check(node, pod()).value
    live = _owned(None, given, node, where)
    return _patches(live, node) + _ownership(live, given, node, where) + _codecs(given)


def _owned(
    live: dict[str, Any] | None, new: dict[str, Any], node: TypeNode, where: dict[str, Any]
) -> dict[str, Any]:
    manager = "maker" if live is None else "other"
    entries = entries_after(live, new, ownership_update(node, subresource="", **where), manager)
    owned = without_owners(new)
    owned["metadata"]["managedFields"] = entries
    return owned


def _patches(live: dict[str, Any], node: TypeNode) -> list[Row]:
    operations = [{"op": "replace", "path": "/spec/containers/0/image", "value": "web:2"}]
    label = {"metadata": {"labels": {"a": "b"}}}
    strategic_us = _us(lambda: apply_strategic_merge(live, _ONE_FIELD, node))
    return [
        Row("strategic merge of one field", strategic_us, "µs", 60),
        Row("JSON patch of one field", _us(lambda: apply_json_patch(live, operations)), "µs"),
        Row("merge patch of one field", _us(lambda: apply_merge_patch(live, label)), "µs"),
    ]


def _ownership(
    live: dict[str, Any], given: dict[str, Any], node: TypeNode, where: dict[str, Any]
) -> list[Row]:
    intent = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, **_ONE_FIELD}
    changed = apply_strategic_merge(live, _ONE_FIELD, node)

    def apply(found: dict[str, Any], applied: dict[str, Any]) -> dict[str, Any]:
        made = server_side_apply(found, applied, node, manager="one", force=True, **where)
        assert isinstance(made, dict), "there is but one version"
        return made

    def own(found: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
        return _owned(found, new, node, where)

    whole = apply(live, given)
    return [
        Row("apply one field", _us(lambda: apply(live, intent)), "µs", 250),
        Row("apply the whole pod again", _us(lambda: apply(whole, given)), "µs"),
        Row("own a created pod", _us(lambda: own(None, given)), "µs"),
        Row("own one changed field", _us(lambda: own(live, changed)), "µs"),
    ]


def _codecs(given: dict[str, Any]) -> list[Row]:
    body, packed, text = json.encode(given), protobuf.encode(given, _POD), yaml.encode(given)
    return [
        Row("decode protobuf", _us(lambda: protobuf.decode(packed)), "µs", 150),
        Row("encode protobuf", _us(lambda: protobuf.encode(given, _POD)), "µs"),
        Row(
            "decode JSON and look for duplicates",
            _us(lambda: strict_json.decode_strict(body)),
            "µs",
        ),
        Row("decode JSON", _us(lambda: json.decode(body)), "µs"),
        Row("decode YAML", _us(lambda: yaml.decode_strict(text), 20), "µs"),
        Row("encode YAML", _us(lambda: yaml.encode(given), 20), "µs"),
    ]


def _us(work: Callable[[], object], number: int = 200) -> float:
    return min(timeit.repeat(work, number=number, repeat=5, timer=process_time)) / number * 1e6
