"""StorageVersionMigration: served, printed and validated as by a kube-apiserver."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.registry.server_under_test import MERGE, Asking

PATH = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"
MIGRATION = {"metadata": {"name": "a"}, "spec": {"resource": {"group": "apps", "resource": "x"}}}


def condition(kind: str, status: str = "True", **more: Any) -> dict[str, Any]:
    when = "2026-01-01T00:00:00Z"
    return {"type": kind, "status": status, "reason": "R", "lastTransitionTime": when, **more}


async def write_status(ask: Asking, *conditions: dict[str, Any], version: str = "5") -> Any:
    status = {"resourceVersion": version, "conditions": list(conditions)}
    return await ask("PATCH", f"{PATH}/a/status", {"status": status}, kind=MERGE)


async def test_a_migration_is_created_listed_and_deleted(ask: Asking) -> None:
    made = await ask("POST", PATH, {**MIGRATION, "status": {"resourceVersion": "9"}})
    listed = await ask("GET", PATH)
    gone = await ask("DELETE", f"{PATH}/a")

    assert made.status == 201
    assert made.body["status"] == {}, "a status is not taken from a create"
    assert [item["spec"] for item in listed.body["items"]] == [MIGRATION["spec"]]
    assert gone.status == 200


@pytest.mark.parametrize(
    ("resource", "field"),
    [
        ({}, "spec.resource.resource"),
        ({"resource": "Deployments"}, "spec.resource.resource"),
        ({"resource": "1st"}, "spec.resource.resource"),
        ({"resource": "x", "group": "-a"}, "spec.resource.group"),
    ],
)
async def test_a_migration_names_a_resource(
    ask: Asking, resource: dict[str, str], field: str
) -> None:
    refused = await ask("POST", PATH, {**MIGRATION, "spec": {"resource": resource}})

    assert refused.status == 422
    assert [cause["field"] for cause in refused.body["details"]["causes"]] == [field]


async def test_the_resource_of_a_migration_never_changes(ask: Asking) -> None:
    await ask("POST", PATH, MIGRATION)

    change = {"spec": {"resource": {"resource": "y"}}}
    refused = await ask("PATCH", f"{PATH}/a", change, kind=MERGE)

    assert refused.status == 422
    assert "spec: Invalid value" in refused.body["message"]
    assert "field is immutable" in refused.body["message"]


@pytest.mark.parametrize(
    ("conditions", "why"),
    [
        ((condition("Succeeded"), condition("Failed")), "Both success and failed"),
        ((condition("Succeeded"), condition("Running")), "when success condition is true"),
        ((condition("Failed"), condition("Running")), "when failed condition is true"),
        ((condition("Running", reason=""),), "status.conditions[0].reason: Required value"),
        ((condition("Running", reason="no spaces"),), "a condition reason must start with"),
        ((condition("Running", "Maybe"),), 'supported values: "False", "True", "Unknown"'),
        ((condition("a b"),), "status.conditions[0].type: Invalid value"),
        ((condition("A", lastTransitionTime=None),), "lastTransitionTime: Required value"),
        ((condition("A", observedGeneration=-1),), "must be greater than or equal to zero"),
        ((condition("A"), condition("A")), 'conditions[1].type: Duplicate value: "A"'),
    ],
)
async def test_a_status_that_contradicts_itself_is_refused(
    ask: Asking, conditions: tuple[dict[str, Any], ...], why: str
) -> None:
    await ask("POST", PATH, MIGRATION)

    refused = await write_status(ask, *conditions)

    assert refused.status == 422
    assert why in refused.body["message"]


async def test_a_finished_migration_stays_finished(ask: Asking) -> None:
    await ask("POST", PATH, MIGRATION)
    assert (await write_status(ask, condition("Succeeded"))).status == 200

    again = await write_status(ask, condition("Succeeded", "False"))
    moved = await write_status(ask, condition("Succeeded"), version="6")
    odd = await write_status(ask, condition("Succeeded"), version="05")

    assert "cannot be set to false once it is true" in again.body["message"]
    assert "status.resourceVersion" in moved.body["message"]
    assert "resource version is not well formed: 05" in odd.body["message"]
