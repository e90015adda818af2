"""A create without a server: decode, default, prepare, validate, as the registry does it."""

from __future__ import annotations

import copy
import json
from typing import Any

from proreus.api.group_version import GroupVersion
from proreus.server.kinds import builtin_resources
from proreus.server.resource import Resource, Rules
from proreus.server.schema.check import check
from proreus.server.schema.definitions import Definitions
from tests.unit.server.validated import at_once

UID = "11111111-2222-3333-4444-555555555555"
CONTAINER = {"name": "c", "image": "nginx:1.25"}
TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [CONTAINER]}}
SELECTOR = {"matchLabels": {"app": "a"}}

Json = dict[str, Any]


RESOURCES = {(found.group, found.kind): found for found in builtin_resources()}


def resource_of(group: str, kind: str) -> Resource:
    return RESOURCES[group, kind]


def rules_of(obj: Json) -> Rules:
    group = GroupVersion.parse(obj["apiVersion"]).group
    return resource_of(group, obj["kind"]).rules


def decoded(obj: Json) -> Json:
    gvk = GroupVersion.parse(obj["apiVersion"]).kind(obj["kind"])
    node = Definitions.load().node(gvk)
    assert node is not None, gvk
    # As a body comes: no part of it is another one's, too.
    return check(node, json.loads(json.dumps(obj))).value


def created(api_version: str, kind: str, **fields: Any) -> Json:
    """The object as it would be stored, valid or not."""
    metadata = {"name": "a", "namespace": "n", **fields.pop("metadata", {})}
    obj = decoded({"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields})
    rules = rules_of(obj)
    rules.default(obj)
    obj["metadata"] |= {"uid": UID, "creationTimestamp": "2026-01-01T00:00:00Z"}
    if kind != "Node":
        obj.pop("status", None)
    rules.prepare_create(obj)
    return obj


def errors(api_version: str, kind: str, **fields: Any) -> list[str]:
    """Every violation of a new object."""
    obj = created(api_version, kind, **fields)
    return [str(error) for error in at_once(rules_of(obj).validate(obj))]


def updated(old: Json, change: Json) -> tuple[Json, list[str]]:
    """The object after a merge patch, and every violation of the update."""
    new = decoded(_merged(old, change))
    rules = rules_of(old)
    rules.default(new)
    if "status" in old:
        new["status"] = copy.deepcopy(old["status"])
    rules.prepare_update(new, copy.deepcopy(old))
    return new, [str(error) for error in at_once(rules.check_update(new, old))]


def status_errors(old: Json, status: Json) -> list[str]:
    new = decoded(_merged(old, {"status": status}))
    rules = rules_of(old)
    rules.default(new)
    rules.prepare_status(new, copy.deepcopy(old))
    return [str(error) for error in at_once(rules.validate_status(new, old))]


def _merged(target: Any, change: Any) -> Any:
    if not isinstance(change, dict) or not isinstance(target, dict):
        return change
    result = copy.deepcopy(target)
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key, {}), value)
    return result


def pod(**spec: Any) -> Json:
    return created("v1", "Pod", spec={"containers": [CONTAINER], **spec})


def pod_errors(**spec: Any) -> list[str]:
    return errors("v1", "Pod", spec={"containers": [CONTAINER], **spec})


def container_errors(**fields: Any) -> list[str]:
    """Without the common start of the paths."""
    volumes = [{"name": "e", "emptyDir": {}}]
    found = pod_errors(containers=[{**CONTAINER, **fields}], volumes=volumes)
    return [text.replace("spec.containers[0].", "") for text in found]
