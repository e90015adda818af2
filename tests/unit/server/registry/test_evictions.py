"""Evictions: whom they name, what they may ask, what budgets say."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import pytest_asyncio

from proreus.api.group_version import GroupVersionKind
from proreus.api.wire import protobuf
from tests.unit.server.registry.server_under_test import MERGE, Answered, Asking

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
NUMBERS = {"observedGeneration": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2,
           "disruptionsAllowed": 1}  # fmt: skip
FAILED = {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "why",
          "lastTransitionTime": "2026-01-01T00:00:00Z"}  # fmt: skip


@pytest_asyncio.fixture
async def ask(ask: Asking) -> Asking:
    await new_pod(ask, READY)
    return ask


async def new_pod(ask: Asking, status: dict[str, Any]) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
    await ask("DELETE", "pods/p?gracePeriodSeconds=0")
    await ask("POST", "pods", {"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": spec})
    await ask("PATCH", "pods/p/status", {"status": status}, kind=MERGE)


async def new_budget(ask: Asking, status: dict[str, Any], **more: Any) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}, **more}
    await ask("POST", BUDGETS, {"metadata": {"name": "b"}, "spec": spec})
    await ask("PATCH", f"{BUDGETS}/b/status", {"status": status}, kind=MERGE)


async def evict(ask: Asking, query: str = "", **options: Any) -> Answered:
    body: dict[str, Any] = {"metadata": {"name": "p"}}
    if options:
        body["deleteOptions"] = options
    return await ask("POST", f"pods/p/eviction{query}", body)


async def is_ending(ask: Asking) -> bool:
    found = await ask("GET", "pods/p")
    return found.status == 404 or "deletionTimestamp" in found.body["metadata"]


@pytest.mark.parametrize("meta", [{"name": "other"}, {"name": ""}, {}])
async def test_an_eviction_names_the_pod_of_the_url(ask: Asking, meta: dict[str, str]) -> None:
    answer = await ask("POST", "pods/p/eviction", {"metadata": meta})

    assert (answer.status, answer.body["message"]) == (
        400,
        "name in URL does not match name in Eviction object",
    )


async def test_an_eviction_is_of_the_namespace_of_the_url(ask: Asking) -> None:
    answer = await ask("POST", "pods/p/eviction", {"metadata": {"name": "p", "namespace": "x"}})

    assert (answer.status, answer.body["message"]) == (
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    )


async def test_a_pod_that_is_not_there_is_not_found(ask: Asking) -> None:
    answer = await ask("POST", "pods/none/eviction", {"metadata": {"name": "none"}})

    assert (answer.status, answer.body["message"]) == (404, 'pods "none" not found')


@pytest.mark.parametrize("dry", ["", "?dryRun=All"])
async def test_preconditions_say_which_pod_may_go(ask: Asking, dry: str) -> None:
    meta = (await ask("GET", "pods/p")).body["metadata"]
    uid, version = meta["uid"], meta["resourceVersion"]

    other = await evict(ask, dry, preconditions={"uid": "x"})
    older = await evict(ask, dry, preconditions={"uid": uid, "resourceVersion": "1"})
    spared = not await is_ending(ask)
    this = await evict(ask, dry, preconditions={"uid": uid, "resourceVersion": version})

    refused = 'Operation cannot be fulfilled on Pod "p": '
    assert (other.status, other.body["message"]) == (
        409,
        f"{refused}the UID in the precondition (x) does not match the UID in record ({uid}). "
        "The object might have been deleted and then recreated",
    )
    assert (older.status, older.body["message"]) == (
        409,
        f"{refused}the ResourceVersion in the precondition (1) does not match the ResourceVersion "
        f"in record ({version}). The object might have been modified",
    )
    assert other.body["details"]["kind"] == "Pod"
    assert (spared, this.status, await is_ending(ask)) == (True, 201, not dry)


async def test_a_dry_run_changes_neither_pod_nor_budget(ask: Asking) -> None:
    await new_budget(ask, NUMBERS)
    before = (await ask("GET", "pods/p")).body, (await ask("GET", f"{BUDGETS}/b")).body

    answers = [
        await evict(ask, "?dryRun=All"),
        await evict(ask, dryRun=["All"]),
        await evict(ask, "?dryRun=All", dryRun=["All"]),
    ]

    assert [answer.status for answer in answers] == [201, 201, 201]
    assert before == ((await ask("GET", "pods/p")).body, (await ask("GET", f"{BUDGETS}/b")).body)


async def test_two_different_dry_runs_are_a_failure_without_a_reason(ask: Asking) -> None:
    answer = await evict(ask, "?dryRun=All", dryRun=["All", "All"])

    assert (answer.status, answer.body["message"]) == (
        500,
        "Non-matching dry-run options in request and content: [All] and [All All]",
    )
    assert "reason" not in answer.body


async def test_the_options_of_an_eviction_are_validated(ask: Asking) -> None:
    answer = await evict(ask, propagationPolicy="Maybe")

    assert answer.status == 422
    assert answer.body["details"]["kind"] == "DeleteOptions"
    assert not await is_ending(ask)


async def test_the_grace_period_of_an_eviction_counts(ask: Asking) -> None:
    await evict(ask, gracePeriodSeconds=7)

    meta = (await ask("GET", "pods/p")).body["metadata"]
    assert meta["deletionGracePeriodSeconds"] == 7


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ({"currentHealthy": 1}, "needs 1 healthy pods and has 1 currently"),
        (
            {"conditions": [FAILED]},
            "does not allow evicting pods currently because it failed sync: why",
        ),
        (
            {"conditions": [{**FAILED, "reason": "Other"}]},
            "does not allow evicting pods currently (Other): why",
        ),
        ({}, "does not allow evicting pods currently"),
    ],
)
async def test_a_budget_says_why_it_allows_nothing(
    ask: Asking, status: dict[str, Any], said: str
) -> None:
    await new_budget(ask, {**NUMBERS, "disruptionsAllowed": 0, **status})

    answer = await evict(ask)

    [cause] = answer.body["details"]["causes"]
    assert (answer.status, cause["message"]) == (429, f"The disruption budget b {said}")
    assert "retryAfterSeconds" not in answer.body["details"]
    assert not await is_ending(ask)


async def test_the_last_disruption_leaves_a_budget_that_says_so(ask: Asking) -> None:
    await new_budget(ask, NUMBERS)

    await evict(ask)

    status = (await ask("GET", f"{BUDGETS}/b")).body["status"]
    [condition] = status["conditions"]
    assert (status["disruptionsAllowed"], list(status["disruptedPods"])) == (0, ["p"])
    assert {key: condition[key] for key in ("type", "status", "reason")} == {
        "type": "DisruptionAllowed",
        "status": "False",
        "reason": "InsufficientPods",
    }


async def test_an_eviction_that_conflicts_counts_one_disruption(ask: Asking) -> None:
    await new_budget(ask, {**NUMBERS, "disruptionsAllowed": 3})

    answer = await evict(ask, preconditions={"uid": "x"})

    assert answer.status == 409
    assert (await ask("GET", f"{BUDGETS}/b")).body["status"]["disruptionsAllowed"] == 2


async def test_a_pod_that_is_not_ready_goes_without_being_counted(ask: Asking) -> None:
    await new_pod(ask, {"phase": "Running"})
    exhausted = {**NUMBERS, "disruptionsAllowed": 0}
    await new_budget(ask, exhausted, unhealthyPodEvictionPolicy="AlwaysAllow")

    answer = await evict(ask)

    assert (answer.status, await is_ending(ask)) == (201, True)
    assert (await ask("GET", f"{BUDGETS}/b")).body["status"]["disruptionsAllowed"] == 0


async def test_a_pending_pod_needs_no_budget(ask: Asking) -> None:
    await new_pod(ask, {"phase": "Pending"})
    await new_budget(ask, {**NUMBERS, "disruptionsAllowed": 0})

    answer = await evict(ask)

    assert (answer.status, await is_ending(ask)) == (201, True)


async def test_too_many_unconfirmed_disruptions_are_forbidden(ask: Asking) -> None:
    many = {f"p-{number}": "2026-01-01T00:00:00Z" for number in range(2001)}
    await new_budget(ask, {**NUMBERS, "disruptedPods": many})

    answer = await evict(ask)

    assert (answer.status, answer.body["message"]) == (
        403,
        'poddisruptionbudget.policy "b" is forbidden: DisruptedPods map too big - too many '
        "evictions not confirmed by PDB controller",
    )


async def test_a_pod_of_two_budgets_is_not_evicted(ask: Asking) -> None:
    await new_budget(ask, NUMBERS)
    spec = {"minAvailable": 0, "selector": {"matchLabels": {"a": "b"}}}
    await ask("POST", BUDGETS, {"metadata": {"name": "c"}, "spec": spec})

    refused = await evict(ask)

    assert refused.status == 500
    assert refused.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "This pod has more than one PodDisruptionBudget, which the eviction "
        "subresource does not support.",
        "code": 500,
    }


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_an_eviction_may_come_as_protobuf_also_in_the_version_before(
    ask: Asking, version: str
) -> None:
    kind = GroupVersionKind("policy", version, "Eviction")
    body = protobuf.encode({"metadata": {"name": "p"}}, kind)

    answer = await ask("POST", "pods/p/eviction", body, kind="application/vnd.kubernetes.protobuf")

    assert answer.status == 201, answer.body
    assert await is_ending(ask)


async def test_a_pod_that_is_written_while_it_starts_is_evicted_nevertheless(ask: Asking) -> None:
    """As budgets do not count it, nothing but its version says that it still does not run."""
    await new_pod(ask, {"phase": "Pending"})

    async def write(writer: int) -> None:
        for number in range(6):
            change = {"metadata": {"annotations": {f"w{writer}": str(number)}}}
            await ask("PATCH", "pods/p", change, kind=MERGE)

    async with asyncio.TaskGroup() as group:
        evicted = group.create_task(evict(ask))
        for writer in range(3):
            group.create_task(write(writer))
    answer = evicted.result()

    assert answer.status == 201, answer.body
