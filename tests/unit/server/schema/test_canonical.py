"""What is taken as it is is what the walk would have made of it, for any body of any kind."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.api.group_version import GroupVersionKind
from proreus.api.typed import TypeNode
from proreus.server.schema import canonical, check, completion
from proreus.server.schema.check import DecodeError
from proreus.server.schema.definitions import Definitions

POD: dict[str, Any] = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {
        "name": "web",
        "generation": 1,
        "labels": {"app": "web"},
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}],
    },
    "spec": {
        "nodeName": "node-1",
        "hostNetwork": True,
        "terminationGracePeriodSeconds": 30,
        "containers": [
            {
                "name": "main",
                "env": [{"name": "A", "value": "1"}, {"name": "B"}],
                "ports": [{"containerPort": 80, "hostPort": 8080}],
                "readinessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 5},
                "resources": {"limits": {"cpu": "1500m", "memory": "1Gi"}},
            }
        ],
        "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}],
    },
    "status": {
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "lastProbeTime": None,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ]
    },
}
OTHERS: tuple[tuple[GroupVersionKind, dict[str, Any]], ...] = (
    (
        GroupVersionKind("", "v1", "Event"),
        {
            "metadata": {"name": "e"},
            "involvedObject": {"kind": "Pod", "name": "web"},
            "source": {"component": "kubelet"},
            "count": 1,
            "eventTime": None,
            "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000001Z"},
        },
    ),
    (
        GroupVersionKind("", "v1", "Secret"),
        {"metadata": {"name": "s"}, "data": {"a": "YQ=="}, "immutable": False},
    ),
    (
        GroupVersionKind("apps", "v1", "Deployment"),
        {
            "metadata": {"name": "d"},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"a": "b"}},
                "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]},
            },
        },
    ),
    (
        # Its type contains itself.
        GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        {
            "metadata": {"name": "c"},
            "spec": {
                "group": "g",
                "names": {"kind": "C", "plural": "cs"},
                "scope": "Cluster",
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {
                            "openAPIV3Schema": {
                                "properties": {"a": {"type": "string", "minimum": 1.5}}
                            }
                        },
                    }
                ],
            },
        },
    ),
)
BODIES = ((GroupVersionKind("", "v1", "Pod"), POD), *OTHERS)
VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, False, 0, 1, -1, 2**31, 2**63, 1.0, 1.5, "", "1", "1000m", "Gi", "YQ=", "YQ==",
     "2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2024-02-29T00:00:00Z",
     "2023-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-01-01T24:00:00Z",
     "2026-01-01T00:00:00Z\n", "0001-01-01T00:00:00Z", "2026-12-31T23:59:59.000001Z",
     [], [None], [{}], ["a"], {}, {"a": None}, {"name": ""}, {"name": "a", "x": 1}]
)  # fmt: skip
KEYS = [
    "name",
    "image",
    "status",
    "stdin",
    "x",
    "lastProbeTime",
    "count",
    "containers",
    "resources",
]


@contextmanager
def compiled_anew(uses_min: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "_USES_MIN", uses_min)
        patch.setattr(check, "_compiled", {})
        patch.setattr(check, "_kinds", {})
        patch.setattr(check, "_used", set())
        patch.setattr(canonical, "_structs", {})
        patch.setattr(completion, "_made", {})
        yield


TIMES = st.from_regex(
    r"\A[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{6})?Z\Z"
)


@given(TIMES)
def test_a_time_is_taken_as_it_is_only_if_it_is_one(text: str) -> None:
    node = Definitions.load().node(GroupVersionKind("coordination.k8s.io", "v1", "Lease"))
    assert node is not None
    body = {"metadata": {"name": "l", "creationTimestamp": text}, "spec": {"renewTime": text}}
    once = {"metadata": {"name": "l"}, "spec": {}}

    with compiled_anew(uses_min=1_000_000):
        walked = outcome(node, body)
    with compiled_anew(uses_min=2):
        fitted = [outcome(node, value) for value in (once, once, body)][-1]

    assert fitted == walked


def outcome(node: TypeNode, value: Any) -> tuple[str, list[str]]:
    try:
        found = check.check(node, value)
    except DecodeError as error:
        return str(error), []
    return json.dumps(found.value, sort_keys=True), found.unknown_fields


def mutate(data: st.DataObject, value: Any) -> Any:
    """The value with one change, somewhere."""
    if not isinstance(value, dict | list) or not value or data.draw(st.integers(0, 5)) == 0:
        return data.draw(VALUES)
    made = value.copy()
    if isinstance(made, list):
        index = data.draw(st.integers(0, len(made) - 1))
        made[index] = mutate(data, made[index])
        return made
    key = data.draw(st.sampled_from([*sorted(made)] * 3 + KEYS))
    if key in made and data.draw(st.integers(0, 5)) == 0:
        del made[key]
    else:
        made[key] = mutate(data, made.get(key))
    return made


@settings(max_examples=200)
@given(st.data())
def test_a_body_decodes_to_the_same_whether_it_is_walked_or_fits_its_form(
    data: st.DataObject,
) -> None:
    gvk, body = data.draw(st.sampled_from(BODIES))
    node = Definitions.load().node(gvk)
    assert node is not None
    bodies = [body, *(mutate(data, body) for _ in range(3))]

    with compiled_anew(uses_min=1_000_000):
        walked = [outcome(node, value) for value in bodies]
    with compiled_anew(uses_min=data.draw(st.integers(1, 3))):
        fitted = [outcome(node, value) for value in [body, body, *bodies]][2:]

    assert fitted == walked


@pytest.mark.parametrize(("gvk", "body"), BODIES, ids=lambda value: getattr(value, "kind", ""))
def test_what_a_server_wrote_is_taken_as_it_is(gvk: GroupVersionKind, body: dict[str, Any]) -> None:
    node = Definitions.load().node(gvk)
    assert node is not None
    written = check.check(node, body).value

    with compiled_anew(uses_min=2):
        for _ in range(3):
            found = check.check(node, written).value

    assert found is written


@pytest.mark.parametrize(("gvk", "body"), BODIES, ids=lambda value: getattr(value, "kind", ""))
def test_what_lacks_only_what_is_always_written_gets_just_that(
    gvk: GroupVersionKind, body: dict[str, Any]
) -> None:
    node = Definitions.load().node(gvk)
    assert node is not None
    given = copy.deepcopy(body)
    complete = completion.completion_of(node)
    assert complete is not None

    completed = complete(body)

    assert body == given
    with compiled_anew(uses_min=1_000_000):
        assert completed == check.check(node, body).value
    assert complete(completed) is completed
