"""Disruption budgets over the wire: evictions are granted one after the other."""

from __future__ import annotations

from typing import Any

from tests.cluster.controllers.stage import Stage, deployment, status_of

CONTROLLERS = ("disruption", "replicaset", "deployment")


def budget(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
    }


def allows(count: int, *, healthy: int) -> Any:
    def holds(obj: Any) -> bool:
        status = status_of(obj)
        return bool(
            obj
            and status.get("observedGeneration") == obj.metadata.generation
            and (status.get("disruptionsAllowed"), status.get("currentHealthy")) == (count, healthy)
        )

    return holds


async def test_evictions_stay_within_the_budget(stage: Stage) -> None:
    budgets = stage.client.policy_v1.poddisruptionbudgets("default")
    pods = stage.client.core_v1.pods("default")
    await stage.client.apps_v1.deployments("default").create(deployment("web", 3))
    await budgets.create(budget(maxUnavailable=1))
    await stage.wait(budgets, "web", allows(1, healthy=3))
    first, second, _ = (await pods.list()).items

    stage.plays = False
    await pods.evict(first.name)
    status = await stage.wait(budgets, "web", allows(0, healthy=2))
    assert status is not None
    assert status.status.expectedPods == 3

    stage.plays = True
    for pod in (await pods.list()).items:
        await stage.play(pod)
    await stage.wait(budgets, "web", allows(1, healthy=3))
    await pods.evict(second.name)


async def test_a_number_of_pods_needs_no_controller(stage: Stage) -> None:
    budgets = stage.client.policy_v1.poddisruptionbudgets("default")
    pods = stage.client.core_v1.pods("default")
    for name in ("a", "b"):
        spec = deployment("web", 1)["spec"]["template"]["spec"]
        await pods.create({"metadata": {"name": name, "labels": {"app": "web"}}, "spec": spec})

    await budgets.create(budget(minAvailable=1))

    await stage.wait(budgets, "web", allows(1, healthy=2))
