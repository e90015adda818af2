"""A container sees the variables it asked for, and nothing of its kubelet's."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from proreus.cluster.kubelet.runtimes.pod_spec.environment import (
    command_line,
    environment_of,
    inherited,
)
from proreus.cluster.kubelet.runtimes.pod_spec.references import (
    ConfigProblem,
    Reference,
    references_of,
)
from tests.unit.cluster.kubelet.pods import pod_spec, value_sources


def variables(content: dict[str, Any], sources: Any = None, **given: str) -> dict[str, str]:
    pod = pod_spec(content)
    return environment_of(pod, pod.containers[0], given, sources or value_sources())


def test_only_the_search_path_and_the_home_are_inherited() -> None:
    found = inherited({"PATH": "/bin", "HOME": "/root", "SECRET_TOKEN": "s", "LANG": "C"})

    assert found == {"PATH": "/bin", "HOME": "/root"}
    assert inherited({})["PATH"]


def test_later_variables_see_earlier_ones_and_win() -> None:
    env = [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "$(A)-$(HOME)-$(C)"},
        {"name": "C", "value": "late"},
        {"name": "A", "value": "2"},
    ]

    assert variables({"env": env}, HOME="/root") == {
        "HOME": "/root",
        "A": "2",
        "B": "1-/root-$(C)",
        "C": "late",
    }


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "web"),
        ("metadata.namespace", "default"),
        ("metadata.uid", "u-1"),
        ("metadata.labels['app']", "web"),
        ("metadata.labels['none']", ""),
        ("metadata.annotations['note']", "two\nlines"),
        ("spec.nodeName", "node-1"),
        ("status.podIP", "127.64.0.2"),
        ("status.hostIP", "127.0.0.1"),
    ],
)
def test_a_pod_may_know_itself(path: str, value: str) -> None:
    env = [{"name": "X", "valueFrom": {"fieldRef": {"fieldPath": path}}}]

    assert variables({"env": env}) == {"X": value}


@pytest.mark.parametrize(
    ("resource", "divisor", "value"),
    [
        ("limits.cpu", "1m", "1500"),
        ("limits.cpu", None, "2"),  # rounded up
        ("requests.memory", "1Mi", "64"),
        ("limits.memory", "1Gi", "8"),  # no limit: all that the node has
        ("requests.cpu", None, "0"),
    ],
)
def test_a_container_may_know_its_resources(resource: str, divisor: str | None, value: str) -> None:
    reference = {"resource": resource, **({"divisor": divisor} if divisor else {})}
    content = {
        "resources": {"limits": {"cpu": "1500m"}, "requests": {"memory": "64Mi"}},
        "env": [{"name": "X", "valueFrom": {"resourceFieldRef": reference}}],
    }

    assert variables(content) == {"X": value}


def test_config_maps_and_secrets_become_variables() -> None:
    sources = value_sources(
        configmaps={"settings": {"data": {"COLOR": "red", "SIZE": "9"}}},
        secrets={"keys": {"data": {"TOKEN": base64.b64encode(b"s3cret").decode()}}},
    )
    content = {
        "envFrom": [
            {"configMapRef": {"name": "settings"}, "prefix": "S_"},
            {"secretRef": {"name": "keys"}},
            {"configMapRef": {"name": "absent", "optional": True}},
        ],
        "env": [
            {"name": "ONE", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "COLOR"}}},
            {"name": "TWO", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "TOKEN"}}},
            {
                "name": "NONE",
                "valueFrom": {"secretKeyRef": {"name": "no", "key": "k", "optional": True}},
            },
        ],
    }

    assert variables(content, sources) == {
        "S_COLOR": "red",
        "S_SIZE": "9",
        "TOKEN": "s3cret",
        "ONE": "red",
        "TWO": "s3cret",
    }
    assert references_of(pod_spec(content)) == {
        Reference("configmap", "settings"),
        Reference("configmap", "absent"),
        Reference("secret", "keys"),
        Reference("secret", "no"),
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"envFrom": [{"configMapRef": {"name": "no"}}]}, 'configmap "no" not found'),
        (
            {"env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "no", "key": "k"}}}]},
            'secret "no" not found',
        ),
        (
            {"env": [{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}}]},
            "couldn't find key k in ConfigMap default/m",
        ),
        (
            {"env": [{"name": "X", "valueFrom": {"fieldRef": {"fieldPath": "spec.secret"}}}]},
            "unsupported fieldPath: spec.secret",
        ),
    ],
)
def test_what_is_missing_is_named(content: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigProblem) as problem:
        variables(content, value_sources(configmaps={"m": {"data": {}}}))

    assert str(problem.value) == message


def test_keys_that_cannot_be_variables_are_left_out() -> None:
    sources = value_sources(configmaps={"odd": {"data": {"A=B": "1", "FINE": "2"}}})

    assert variables({"envFrom": [{"configMapRef": {"name": "odd"}}]}, sources) == {"FINE": "2"}


def test_commands_and_arguments_are_expanded_and_a_command_must_be_there() -> None:
    pod = pod_spec({"command": ["run", "$(A)"], "args": ["$$(A)", "$(B)"]}, {"command": None})

    assert command_line(pod.containers[0], {"A": "1"}) == ["run", "1", "$(A)", "$(B)"]
    assert command_line(pod.containers[1], {}) == []
