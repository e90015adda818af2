"""Our own controllers keep their promises whatever goes wrong, within a budget of plans.

All plans of a test are run with PROREUS_EXPLORE_ALL=1 in the environment.
"""

from __future__ import annotations

import os

import pytest

from proreus.api.object import KubeObject
from proreus.testing.explore import State, World, explore
from proreus.testing.explore.decorator import PLAN_VARIABLE
from tests.testing.own_controllers import SELECTOR, controllers, run_pods, template

BUDGET = None if os.environ.get("PROREUS_EXPLORE_ALL") else 16


def _live(state: State) -> list[KubeObject]:
    """Pods that are wanted and have work left."""
    done = ("Succeeded", "Failed")
    pods = [pod for pod in state.all("pods") if not pod.metadata.deletionTimestamp]
    return [pod for pod in pods if (pod.get("status") or {}).get("phase") not in done]


def never_more_than_three_live_pods(state: State) -> bool:
    return len(_live(state)) <= 3


def never_more_than_three_wanted_pods(state: State) -> bool:
    """Of all revisions of a Deployment: what it wants counts, as in Kubernetes, not what is left to
    be deleted."""
    return sum(int(one["spec"]["replicas"]) for one in state.all("replicasets.apps")) <= 3


def never_more_than_three_pods(state: State) -> bool:
    return len(state.all("pods")) <= 3


def never_two_live_pods_on_a_node(state: State) -> bool:
    return len(_live(state)) <= 1


def never_more_than_two_jobs_at_once(state: State) -> bool:
    return len(state.all("jobs.batch")) <= 2


def never_an_owner_before_what_it_waits_for(state: State) -> bool:
    gone = state.deleted("configmaps")
    return gone is None or gone.name != "owner" or state.get("configmaps", "default/leaf") is None


@explore(plans_max=BUDGET, invariants=[never_more_than_three_live_pods])
async def test_a_ReplicaSet_is_scaled(world: World) -> None:
    await run_pods(world)
    world.run(controllers("replicaset"))
    sets = world.client.apps_v1.replicasets("default")
    spec = {"replicas": 3, "selector": SELECTOR, "template": template()}
    await sets.create({"metadata": {"name": "web"}, "spec": spec})
    await world.settle()
    for size in (1, 2):
        await sets.patch("web", {"spec": {"replicas": size}})
        await world.settle()


@explore(plans_max=BUDGET, invariants=[never_more_than_three_wanted_pods])
async def test_a_Deployment_is_rolled_out_and_scaled(world: World) -> None:
    await run_pods(world)
    world.run(controllers("deployment", "replicaset"))
    deployments = world.client.apps_v1.deployments("default")
    spec = {"replicas": 2, "selector": SELECTOR, "template": template()}
    await deployments.create({"metadata": {"name": "web"}, "spec": spec})
    await world.settle()
    changed = template(terminationGracePeriodSeconds=1)
    await deployments.patch("web", {"spec": {"template": changed}})
    await world.settle()
    await deployments.patch("web", {"spec": {"replicas": 1}})
    await world.settle()


@explore(plans_max=BUDGET)
async def test_a_StatefulSet_is_rolled_out_and_scaled(world: World) -> None:
    await run_pods(world)
    world.run(controllers("statefulset"))
    sets = world.client.apps_v1.statefulsets("default")
    spec = {"serviceName": "web", "replicas": 2, "selector": SELECTOR, "template": template()}
    await sets.create({"metadata": {"name": "web"}, "spec": spec})
    await world.settle()
    changed = template(terminationGracePeriodSeconds=1)
    await sets.patch("web", {"spec": {"template": changed}})
    await world.settle()
    await sets.patch("web", {"spec": {"replicas": 1}})
    await world.settle()


@explore(plans_max=BUDGET, invariants=[never_two_live_pods_on_a_node])
async def test_a_DaemonSet_is_rolled_out(world: World) -> None:
    await run_pods(world)
    world.run(controllers("daemonset"))
    sets = world.client.apps_v1.daemonsets("default")
    spec = {"selector": SELECTOR, "template": template()}
    await sets.create({"metadata": {"name": "web"}, "spec": spec})
    await world.settle()
    changed = template(terminationGracePeriodSeconds=1)
    await sets.patch("web", {"spec": {"template": changed}})
    await world.settle()


@explore(plans_max=BUDGET, invariants=[never_more_than_three_pods])
async def test_a_Job_runs_to_completion(world: World) -> None:
    await run_pods(world)
    world.run(controllers("job"))
    work = template(restartPolicy="Never")
    work["metadata"] = {"annotations": {"proreus.io/runs-for": "5s"}}
    spec = {"completions": 3, "parallelism": 2, "template": work}
    await world.client.batch_v1.jobs("default").create({"metadata": {"name": "work"}, "spec": spec})
    await world.settle()


def test_a_Job_gets_no_pods_again_from_a_controller_that_starts_on_a_stale_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(PLAN_VARIABLE, "restart at quiet moment 1 on the state of quiet moment 0")

    test_a_Job_runs_to_completion()


@explore(plans_max=BUDGET, invariants=[never_more_than_two_jobs_at_once])
async def test_a_CronJob_makes_a_job_per_minute(world: World) -> None:
    world.run(controllers("cronjob"))
    jobs = world.client.batch_v1.cronjobs("default")
    job = {"spec": {"template": template(restartPolicy="Never")}}
    spec = {"schedule": "*/1 * * * *", "jobTemplate": job}
    await jobs.create({"metadata": {"name": "tick"}, "spec": spec})
    await world.clock.sleep(130)
    await jobs.patch("tick", {"spec": {"suspend": True}})
    await world.settle()


@explore(plans_max=BUDGET, invariants=[never_an_owner_before_what_it_waits_for])
async def test_the_garbage_collector_deletes_in_the_foreground(world: World) -> None:
    world.run(controllers("garbage-collector"))
    maps = world.client.core_v1.configmaps("default")
    owner = await maps.create({"metadata": {"name": "owner"}})
    for name in ("middle", "leaf"):
        named = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner.name, "uid": owner.uid}
        reference: dict[str, object] = {**named, "blockOwnerDeletion": True}
        metadata = {"name": name, "ownerReferences": [reference]}
        owner = await maps.create({"metadata": metadata})
    await world.settle()
    await maps.delete("owner", propagation="Foreground")
    await world.settle()


@explore(plans_max=BUDGET)
async def test_a_namespace_goes_with_all_that_is_in_it(world: World) -> None:
    world.run(controllers("namespace"))
    await world.client.core_v1.namespaces.create({"metadata": {"name": "team"}})
    await world.client.core_v1.configmaps("team").create({"metadata": {"name": "a"}})
    secrets = world.client.core_v1.secrets("team")
    await secrets.create({"metadata": {"name": "b", "finalizers": ["example.com/x"]}})
    await world.settle()
    await world.client.core_v1.namespaces.delete("team")
    await world.settle()
    await secrets.patch("b", {"metadata": {"finalizers": None}})
    await world.settle()
