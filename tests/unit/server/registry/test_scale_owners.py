"""Who owns the replicas of a workload that is written through its Scale."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.registry.server_under_test import MERGE, Asking

APPLY = "application/apply-patch+yaml"
PATH = "/apis/apps/v1/namespaces/default/deployments"
TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


def deployment(**spec: Any) -> dict[str, Any]:
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE, **spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}


def scale(replicas: int) -> dict[str, Any]:
    named = {"name": "d", "namespace": "default"}
    spec = {"replicas": replicas}
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": named, "spec": spec}


async def owners(ask: Asking) -> dict[tuple[str, str, str], tuple[bool, str | None]]:
    """Of each entry: whether it has the replicas, and its time."""
    found = await ask("GET", f"{PATH}/d")
    return {
        (entry["manager"], entry["operation"], entry.get("subresource", "")): (
            "f:replicas" in entry["fieldsV1"]["f:spec"],
            entry.get("time"),
        )
        for entry in found.body["metadata"]["managedFields"]
    }


@pytest.mark.parametrize(
    ("method", "body", "kind"),
    [("PUT", scale(3), "application/json"), ("PATCH", {"spec": {"replicas": 3}}, MERGE)],
)
async def test_who_changes_the_scale_takes_the_replicas_from_who_made_the_object(
    ask: Asking, method: str, body: Any, kind: str
) -> None:
    await ask("POST", f"{PATH}?fieldManager=maker", deployment())

    await ask(method, f"{PATH}/d/scale?fieldManager=scaler", body, kind=kind)

    found = await owners(ask)
    assert found["scaler", "Update", "scale"] == (True, None)
    assert found["maker", "Update", ""][0] is False


async def test_a_scale_that_says_what_is_there_takes_nothing(ask: Asking) -> None:
    await ask("POST", f"{PATH}?fieldManager=maker", deployment(replicas=2))

    await ask("PUT", f"{PATH}/d/scale?fieldManager=scaler", scale(2))

    assert [name for name, _, _ in await owners(ask)] == ["maker"]


async def test_replicas_that_nobody_owns_are_not_tracked_through_the_scale(ask: Asking) -> None:
    await ask("PATCH", f"{PATH}/d?fieldManager=maker", deployment(), kind=APPLY)

    await ask("PUT", f"{PATH}/d/scale?fieldManager=scaler", scale(2))

    assert [name for name, _, _ in await owners(ask)] == ["maker"]


async def test_an_applied_scale_conflicts_with_the_owner_of_the_replicas(ask: Asking) -> None:
    await ask("POST", f"{PATH}?fieldManager=maker", deployment())

    refused = await ask("PATCH", f"{PATH}/d/scale?fieldManager=one", scale(3), kind=APPLY)
    forced = await ask("PATCH", f"{PATH}/d/scale?fieldManager=one&force=1", scale(3), kind=APPLY)

    assert refused.status == 409
    assert 'conflict with "maker" using autoscaling/v1: .spec.replicas' in refused.body["message"]
    assert (forced.status, forced.body["spec"]) == (200, {"replicas": 3})
    found = await owners(ask)
    assert found["one", "Apply", "scale"] == (True, None)
    assert found["maker", "Update", ""][0] is False


async def test_an_applier_of_the_object_conflicts_with_the_applier_of_its_scale(
    ask: Asking,
) -> None:
    await ask("POST", f"{PATH}?fieldManager=maker", deployment())
    await ask("PATCH", f"{PATH}/d/scale?fieldManager=one&force=1", scale(3), kind=APPLY)

    refused = await ask("PATCH", f"{PATH}/d?fieldManager=two", deployment(replicas=4), kind=APPLY)

    assert refused.body["details"]["causes"] == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "one" with subresource "scale"',
            "field": ".spec.replicas",
        }
    ]
