"""Parts of objects with verbs of their own, against the real server."""

from __future__ import annotations

import pytest

from proreus.client import Client, NotFound
from tests.client_server.objects import deployment, pod


async def test_status_and_scale_are_parts_of_their_own(client: Client) -> None:
    deployments = client.apps_v1.deployments(client.namespace)
    made = await deployments.create(deployment("d"))

    changed = made.to_dict()
    changed["status"] = {"replicas": 1, "readyReplicas": 1}
    changed["spec"]["replicas"] = 9
    with_status = await deployments.replace_status(changed)
    patched = await deployments.patch_status("d", {"status": {"readyReplicas": 0}})
    scale = await deployments.set_scale("d", 4)

    assert with_status.spec.replicas == 1
    assert with_status.status.readyReplicas == 1
    assert not patched.status.readyReplicas
    assert (scale.kind, scale.spec.replicas) == ("Scale", 4)
    assert (await deployments.get_scale("d")).spec.replicas == 4


async def test_a_pod_is_bound_and_evicted(client: Client) -> None:
    pods = client.core_v1.pods(client.namespace)
    # Nobody else binds it or runs it, where a cluster has a scheduler and kubelets.
    body = pod("p")
    await pods.create({**body, "spec": {**body["spec"], "schedulerName": "nobody"}})

    await pods.bind("p", "nowhere")
    assert (await pods.get("p")).spec.nodeName == "nowhere"
    await pods.evict("p")
    assert (await pods.get("p")).metadata.deletionTimestamp
    await pods.delete("p", grace_period_s=0)
    with pytest.raises(NotFound):
        await pods.get("p")
