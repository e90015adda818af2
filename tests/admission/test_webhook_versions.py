"""Webhooks whose rules name another version than the request: equivalent ones are converted."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from proreus.client import Client
from tests.admission.webhooks import Json, WebhookProcess, configure
from tests.custom.asking import define, widgets
from tests.custom.conversion_server import conversion_server
from tests.custom.definitions import INTEGER, definition, version, widget

SCALER = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "a"},
    "spec": {
        "maxReplicas": 3,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        "metrics": [
            {
                "type": "Resource",
                "resource": {
                    "name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 50},
                },
            }
        ],
    },
}


@pytest.fixture
def name() -> str:
    return f"hook-{uuid.uuid4().hex[:12]}"


def rule(group: str, of_version: str, plural: str) -> Json:
    return {
        "operations": ["CREATE"],
        "apiGroups": [group],
        "apiVersions": [of_version],
        "resources": [plural],
    }


def replace(path: str, value: Any) -> Json:
    return {"op": "replace", "path": path, "value": value}


async def test_a_built_in_kind_is_sent_and_changed_in_the_version_of_the_rule(
    client: Client, process: WebhookProcess, name: str
) -> None:
    process.behave(name, {"patch": [replace("/spec/targetCPUUtilizationPercentage", 70)]})
    of_v1 = rule("autoscaling", "v1", "horizontalpodautoscalers")
    exact = process.hook(f"{name}-2", of_v1, matchPolicy="Exact")
    await configure(client, "Mutating", process.hook(name, of_v1), exact)
    scalers = client.resource(api_version="autoscaling/v2", kind="HorizontalPodAutoscaler")(
        "default"
    )

    made = (await scalers.create(SCALER)).to_dict()

    assert made["apiVersion"] == "autoscaling/v2"
    assert made["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 70
    (asked,) = process.requests(name)
    assert (asked["kind"]["version"], asked["requestKind"]["version"]) == ("v1", "v2")
    assert (asked["resource"]["version"], asked["requestResource"]["version"]) == ("v1", "v2")
    assert asked["object"]["apiVersion"] == "autoscaling/v1"
    assert asked["object"]["spec"]["targetCPUUtilizationPercentage"] == 50
    assert process.requests(f"{name}-2") == []


async def test_events_of_both_groups_are_one_kind(
    client: Client, process: WebhookProcess, name: str
) -> None:
    await configure(client, "Validating", process.hook(name, rule("", "v1", "events")))
    events = client.resource(api_version="events.k8s.io/v1", kind="Event")("default")

    await events.create(
        {
            "metadata": {"name": "a"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "action": "Testing",
            "reason": "Test",
            "type": "Normal",
            "note": "text",
            "reportingController": "example.com/tests",
            "reportingInstance": "one",
            "regarding": {"kind": "Namespace", "name": "default", "namespace": "default"},
        }
    )

    (asked,) = process.requests(name)
    assert asked["object"]["apiVersion"] == "v1"
    assert asked["object"]["message"] == "text"


async def test_a_custom_kind_is_sent_and_changed_in_the_version_of_the_rule(
    client: Client, process: WebhookProcess, name: str
) -> None:
    process.behave(name, {"patch": [replace("/spec/size", 7), {"op": "add", "path": "/spec/odd",
                                                              "value": 1}]})  # fmt: skip
    size = {"size": INTEGER}
    await define(client, definition(version("v1", spec=size), version("v2", storage=False,
                                                                      spec=size)))  # fmt: skip
    await configure(client, "Mutating", process.hook(name, rule("example.com", "v2", "widgets")))

    made = await widgets(client, "v1").create(widget("a", spec={"size": 1}))

    assert made.to_dict()["apiVersion"] == "example.com/v1"
    assert made.to_dict()["spec"] == {"size": 7}, "unknown fields of a patch are pruned"
    assert process.requests(name)[0]["object"]["apiVersion"] == "example.com/v2"


async def test_a_kind_that_a_webhook_converts_is_converted_to_the_version_of_the_rule(
    client: Client, process: WebhookProcess, name: str
) -> None:
    process.behave(name, {"patch": [replace("/spec/size", 7)]})
    measured = {"dimensions": {"type": "object", "properties": {"size": INTEGER}}}
    both = definition(
        version("v1", spec={"size": INTEGER}), version("v2", storage=False, spec=measured)
    )
    with conversion_server() as converter:
        both["spec"]["conversion"] = converter.conversion()
        await define(client, both)
        await configure(
            client, "Mutating", process.hook(name, rule("example.com", "v1", "widgets"))
        )

        made = await widgets(client, "v2").create(
            widget("a", api_version="example.com/v2", spec={"dimensions": {"size": 1}})
        )

        assert made.to_dict()["spec"] == {"dimensions": {"size": 7}}
    assert process.requests(name)[0]["object"]["spec"] == {"size": 1}
