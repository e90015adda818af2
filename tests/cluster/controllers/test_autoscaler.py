"""Autoscalers over the wire, with a metrics API made of custom resources."""

from __future__ import annotations

from typing import Any

from proreus.api.object import KubeObject
from tests.cluster.controllers.stage import Stage, deployment, status_of
from tests.custom.definitions import definition, untyped

CONTROLLERS = ("horizontalpodautoscaler", "deployment", "replicaset")
METRICS_API = definition(
    untyped("v1beta1"), plural="pods", kind="PodMetrics", group="metrics.k8s.io"
)
METRICS_API["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, for a test"}


def autoscaler(**spec: Any) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 5, **spec},
    }


def says(kind: str, reason: str) -> Any:
    def holds(obj: KubeObject | None) -> bool:
        found = status_of(obj).get("conditions") or ()
        return any((one.type, one.reason) == (kind, reason) for one in found)

    return holds


def web(replicas: int) -> dict[str, Any]:
    made = deployment("web", replicas)
    (container,) = made["spec"]["template"]["spec"]["containers"]
    container["resources"] = {"requests": {"cpu": "100m"}}
    return made


async def test_without_a_metrics_api_the_bounds_are_kept_and_the_lack_is_reported(
    stage: Stage,
) -> None:
    scalers = stage.client.autoscaling_v2.horizontalpodautoscalers("default")
    deployments = stage.client.apps_v1.deployments("default")
    await deployments.create(web(1))

    await scalers.create(autoscaler())

    await stage.wait(deployments, "web", lambda it: it and it.spec.replicas == 2)
    await scalers.patch("web", {"spec": {"maxReplicas": 4}})
    found = await stage.wait(scalers, "web", says("ScalingActive", "FailedGetResourceMetric"))
    said = [one.message for one in status_of(found)["conditions"] if one.type == "ScalingActive"]
    assert said == [
        "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to "
        "get metrics for resource cpu: unable to fetch metrics from resource metrics API: the "
        "server could not find the requested resource (get pods.metrics.k8s.io)"
    ]


async def test_load_makes_a_deployment_grow(stage: Stage) -> None:
    scalers = stage.client.autoscaling_v2.horizontalpodautoscalers("default")
    deployments = stage.client.apps_v1.deployments("default")
    definitions = stage.client.apiextensions_v1.customresourcedefinitions
    await definitions.create(METRICS_API)
    await definitions.wait_for("pods.metrics.k8s.io", "condition=Established", timeout_s=60)
    await deployments.create(web(2))
    await stage.wait(deployments, "web", lambda it: status_of(it).get("availableReplicas") == 2)
    metrics = stage.client.resource(api_version="metrics.k8s.io/v1beta1", kind="PodMetrics")
    for pod in await stage.active(app="web"):
        metadata = {"name": pod.name, "labels": dict(pod.labels)}
        containers = [{"name": "main", "usage": {"cpu": "160m"}}]
        await metrics("default").create({"metadata": metadata, "containers": containers})

    await scalers.create(autoscaler())

    # First what its next round writes over.
    scaled = await stage.wait(scalers, "web", says("AbleToScale", "SucceededRescale"))
    await stage.wait(deployments, "web", lambda it: it and it.spec.replicas == 4)
    assert scaled is not None
    current = scaled.status.currentMetrics[0].resource.current
    assert (current.averageUtilization, current.averageValue) == (160, "160m")
    assert scaled.status.desiredReplicas == 4


async def test_a_target_that_does_not_exist_is_reported(stage: Stage) -> None:
    scalers = stage.client.autoscaling_v2.horizontalpodautoscalers("default")

    await scalers.create(autoscaler())

    await stage.wait(scalers, "web", says("AbleToScale", "FailedGetScale"))


async def test_a_target_without_a_version_is_reported_and_not_tried_for_ever(stage: Stage) -> None:
    scalers = stage.client.autoscaling_v2.horizontalpodautoscalers("default")

    await scalers.create(autoscaler(scaleTargetRef={"kind": "Deployment", "name": "web"}))

    await stage.wait(scalers, "web", says("AbleToScale", "FailedGetScale"))
