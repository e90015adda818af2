"""StatefulSets and Jobs whose controllers die again and again: no pod twice, none forgotten."""

from __future__ import annotations

from collections.abc import Callable

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.api.object import KubeObject
from proreus.cluster.controllers import CONTROLLERS as ALL
from proreus.cluster.controllers import run_controllers
from proreus.cluster.pod_status import is_ready
from tests.cluster.controllers.stage import Stage, status_of, template

CONTROLLERS: tuple[str, ...] = ()


def reached(**least: int) -> Callable[[KubeObject | None], bool]:
    """These fields of a status that is up to date have at least these numbers."""

    def holds(obj: KubeObject | None) -> bool:
        status = status_of(obj)
        is_new = status.get("observedGeneration") in (None, obj and obj.metadata.generation)
        return is_new and all(status.get(field, 0) >= n for field, n in least.items())

    return holds


async def test_every_completion_of_a_job_is_counted_once(stage: Stage) -> None:
    stage.finishes = True
    some = {name: ALL[name] for name in ("job", "job-orphans")}
    jobs, pods = stage.client.batch_v1.jobs("default"), stage.client.core_v1.pods("default")
    spec = {"completions": 24, "parallelism": 4, "template": template({}, restartPolicy="Never")}
    await jobs.create({"metadata": {"name": "sum"}, "spec": spec})

    for goal in (1, 5, 12, 13, 20, 24):
        async with background(run_controllers(stage.client, SystemClock(), controllers=some)):
            await stage.wait(jobs, "sum", reached(succeeded=goal))

    async with background(run_controllers(stage.client, SystemClock(), controllers=some)):
        done = await stage.wait(jobs, "sum", lambda it: status_of(it).get("completionTime"))
    assert done is not None
    assert (done.status.succeeded, done.status.failed) == (24, None)
    left = (await pods.list()).items
    assert len(left) == 24
    assert not any(pod.metadata.finalizers for pod in left)


async def test_an_update_of_a_stateful_set_goes_on_where_it_was(stage: Stage) -> None:
    some = {"statefulset": ALL["statefulset"]}
    sets = stage.client.apps_v1.statefulsets("default")
    labels = {"app": "db"}
    wish = {
        "replicas": 5,
        "selector": {"matchLabels": labels},
        "template": template(labels, "db:1"),
    }
    await sets.create({"metadata": {"name": "db"}, "spec": wish})
    for goal in (1, 3, 5):
        async with background(run_controllers(stage.client, SystemClock(), controllers=some)):
            await stage.wait(sets, "db", reached(readyReplicas=goal))
    state = await stage.begin_history()
    assert sorted(state) == ["db-0", "db-1", "db-2", "db-3", "db-4"]

    await sets.patch("db", {"spec": {"template": template(labels, "db:2")}})
    for goal in (1, 2, 4, 5):
        async with background(run_controllers(stage.client, SystemClock(), controllers=some)):
            await stage.wait(sets, "db", reached(updatedReplicas=goal, readyReplicas=5))

    async for alive in stage.alive_over_time(state):
        assert sum(is_ready(pod) for pod in alive.values()) >= 4
    assert {pod.spec.containers[0].image for pod in state.values()} == {"db:2"}
