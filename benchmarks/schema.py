"""What a write pays for its schema: load once, then check, default and validate each object."""

from __future__ import annotations

import copy
import itertools
import timeit
from collections.abc import Callable
from time import process_time
from typing import Any

import orjson

from benchmarks.report import Row
from proreus.api.group_version import GroupVersionKind
from proreus.server.kinds import builtin_resources
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.pod_template.spec import check_every_rule
from proreus.server.schema.check import check
from proreus.server.schema.definitions import Definitions

_POD = GroupVersionKind("", "v1", "Pod")
_REPEATS = 60  # many short runs: the best one was not disturbed


def pod() -> dict[str, Any]:
    """About 3.7 kB of JSON, as a controller would write it."""
    container: dict[str, Any] = {
        "name": "web",
        "image": "registry.example.com/team/web:1.25.3",
        "command": ["/bin/web", "--port=8080"],
        "ports": [
            {"name": "http", "containerPort": 8080},
            {"name": "metrics", "containerPort": 9090},
        ],
        "env": [
            {"name": f"SETTING_{index}", "value": f"value number {index} of this variable"}
            for index in range(12)
        ]
        + [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "resources": {
            "requests": {"cpu": "250m", "memory": "256Mi"},
            "limits": {"cpu": "1", "memory": "512Mi"},
        },
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 5},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "http"}},
        "volumeMounts": [
            {"name": "settings", "mountPath": "/etc/web", "readOnly": True},
            {"name": "cache", "mountPath": "/var/cache/web"},
        ],
        "securityContext": {"runAsNonRoot": True, "allowPrivilegeEscalation": False},
    }
    second = {**container, "name": "proxy", "env": container["env"][:4]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web-5d4f8c7b9-x2x7q",
            "namespace": "production",
            "labels": {f"example.com/label-{index}": f"value-{index}" for index in range(6)},
            "annotations": {f"example.com/note-{index}": "some text here" for index in range(6)},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "web-5d4f8c7b9",
                    "uid": "0d6f0c1e-5c0e-4f7e-9f3e-3f1f2c9a7b10",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "containers": [container, second],
            "volumes": [
                {"name": "settings", "configMap": {"name": "web-settings"}},
                {"name": "cache", "emptyDir": {"sizeLimit": "1Gi"}},
            ],
            "serviceAccountName": "web",
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "web"}],
        },
    }


def _best_s(work: Callable[[], object], number: int) -> float:
    return min(timeit.repeat(work, number=number, repeat=_REPEATS, timer=process_time)) / number


def _load() -> None:
    Definitions.load.cache_clear()
    Definitions.load()


def run() -> list[Row]:
    load_s = _best_s(_load, 1)
    node = Definitions.load().node(_POD)
    assert node is not None
    rules = next(r.rules for r in builtin_resources() if r.gvk == _POD)
    given = pod()
    body = orjson.dumps(given)

    def write() -> None:
        checked = check(node, orjson.loads(body)).value
        rules.default(checked)
        rules.prepare_create(checked)
        assert not rules.validate(checked)

    def only_check() -> None:
        check(node, given)

    numbers = itertools.count()

    def write_new() -> None:
        new = orjson.loads(body)
        new["spec"]["containers"][0]["image"] = f"registry.example.com/team/web:{next(numbers)}"
        checked = check(node, new).value
        rules.default(checked)
        rules.prepare_create(checked)
        assert not rules.validate(checked)

    ready = check(node, orjson.loads(body)).value
    rules.default(ready)
    rules.prepare_create(ready)

    def first_validation() -> None:
        check_every_rule(Findings(), "spec", ready["spec"])

    copied_s = _best_s(lambda: copy.deepcopy(given), 50)
    return [
        Row("load the type definitions", load_s * 1e3, "ms", 30),
        Row(
            f"decode a pod of {len(body)} bytes into its type",
            _best_s(only_check, 50) * 1e6,
            "µs",
            None,
        ),
        Row("validate a new spec of known parts", _best_s(first_validation, 50) * 1e6, "µs", None),
        Row(
            "validate a pod of a known template",
            _best_s(lambda: rules.validate(ready), 50) * 1e6,
            "µs",
            None,
        ),
        Row(
            "decode, default and validate a pod of a known template",
            _best_s(write, 50) * 1e6,
            "µs",
            80,
        ),
        Row(
            "decode, default and validate a pod of a new spec, of known parts",
            _best_s(write_new, 50) * 1e6,
            "µs",
            80,
        ),
        Row("for comparison: copy it", copied_s * 1e6, "µs", None),
    ]
