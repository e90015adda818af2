"""A rollout during which the controllers die again and again converges, inside its bounds."""

from __future__ import annotations

from collections.abc import Callable

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.api.object import KubeObject
from proreus.cluster.controllers import CONTROLLERS as ALL
from proreus.cluster.controllers import run_controllers
from proreus.cluster.pod_status import is_ready
from tests.cluster.controllers.stage import Stage, deployment, status_of

CONTROLLERS: tuple[str, ...] = ()
REPLICAS, LEAST, MOST = 16, 14, 18


def updated(count: int) -> Callable[[KubeObject | None], bool]:
    def holds(obj: KubeObject | None) -> bool:
        status = status_of(obj)
        return bool(
            status.get("updatedReplicas", 0) >= count
            and status.get("observedGeneration") == (obj and obj.metadata.generation)
        )

    return holds


async def test_a_rollout_survives_the_death_of_its_controllers(stage: Stage) -> None:
    some = {name: ALL[name] for name in ("replicaset", "deployment")}
    deployments = stage.client.apps_v1.deployments("default")
    strategy = {"rollingUpdate": {"maxSurge": 2, "maxUnavailable": 2}}
    await deployments.create(deployment("web", REPLICAS, strategy=strategy))
    async with background(run_controllers(stage.client, SystemClock(), controllers=some)):
        await stage.wait(
            deployments, "web", lambda it: status_of(it).get("availableReplicas") == REPLICAS
        )
    state = await stage.begin_history()
    image = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "web:2"}]
    await deployments.patch("web", image, type="json")

    for goal in (2, 7, 11, REPLICAS):
        async with background(run_controllers(stage.client, SystemClock(), controllers=some)):
            await stage.wait(deployments, "web", updated(goal))
            if goal == REPLICAS:
                await stage.wait(
                    deployments, "web",
                    lambda it: status_of(it).get("replicas") == REPLICAS
                    and status_of(it).get("availableReplicas") == REPLICAS,
                )  # fmt: skip

    async for alive in stage.alive_over_time(state):
        assert sum(is_ready(pod) for pod in alive.values()) >= LEAST
        assert len(alive) <= MOST
    left = await stage.active()
    assert len(left) == REPLICAS
    assert {pod.spec.containers[0].image for pod in left} == {"web:2"}
