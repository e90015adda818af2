"""Pods that are held for a Job: let go when there is none, and only then."""

from __future__ import annotations

from typing import Any

from proreus.api.object import KubeObject
from tests.cluster.controllers.stage import Stage, template

CONTROLLERS = ("job-orphans",)
FINALIZER = "batch.kubernetes.io/job-tracking"


def held(name: str, labels: dict[str, str]) -> dict[str, Any]:
    body = template(labels, restartPolicy="Never")
    return {**body, "metadata": {"name": name, "labels": labels, "finalizers": [FINALIZER]}}


def is_free(pod: KubeObject | None) -> bool:
    return pod is not None and not pod.metadata.finalizers


async def test_a_pod_that_a_job_is_about_to_adopt_keeps_its_mark(stage: Stage) -> None:
    jobs, pods = stage.client.batch_v1.jobs("default"), stage.client.core_v1.pods("default")
    job = await jobs.create(
        {"metadata": {"name": "sum"}, "spec": {"template": template({}, restartPolicy="Never")}}
    )

    await pods.create(held("wanted", dict(job.spec.template.metadata.labels or {})))
    await pods.create(held("lone", {"app": "none"}))

    # One worker takes pods in their order.
    await stage.wait(pods, "lone", is_free)
    assert (await pods.get("wanted")).metadata.finalizers == [FINALIZER]
