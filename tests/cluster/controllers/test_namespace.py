"""Namespaces: what they begin with, and how they end."""

from __future__ import annotations

import contextlib
from typing import Any

from proreus.api.status import NotFound
from tests.cluster.controllers.stage import Stage, deployment, template

CONTROLLERS = ("namespace", "replicaset", "deployment", "serviceaccount", "root-ca")


async def test_a_namespace_begins_with_an_account_and_the_root_of_trust(stage: Stage) -> None:
    await stage.client.core_v1.namespaces.create({"metadata": {"name": "team"}})

    accounts = stage.client.core_v1.serviceaccounts("team")
    await accounts.wait_for("default", "create", timeout_s=60)
    maps = stage.client.core_v1.configmaps("team")
    await maps.wait_for("kube-root-ca.crt", "create", timeout_s=60)


async def test_a_deleted_account_comes_back_and_a_changed_root_is_mended(stage: Stage) -> None:
    accounts = stage.client.core_v1.serviceaccounts("default")
    maps = stage.client.core_v1.configmaps("default")
    first = await accounts.wait_for("default", "create", timeout_s=60)
    await maps.wait_for("kube-root-ca.crt", "create", timeout_s=60)

    await accounts.delete("default")
    await maps.patch("kube-root-ca.crt", {"data": {"ca.crt": "forged"}})

    assert first is not None
    await stage.wait(accounts, "default", lambda it: it and it.uid != first.uid)
    await stage.wait(maps, "kube-root-ca.crt", lambda it: it and it.data["ca.crt"] != "forged")


async def test_a_deleted_namespace_takes_everything_along(stage: Stage) -> None:
    namespaces = stage.client.core_v1.namespaces
    await namespaces.create({"metadata": {"name": "team"}})
    web: dict[str, Any] = deployment("web", 3)
    web["metadata"]["namespace"] = "team"
    deployments = stage.client.apps_v1.deployments("team")
    await deployments.create(web)
    await stage.client.core_v1.secrets("team").create({"metadata": {"name": "s"}})
    await stage.wait(
        deployments, "web", lambda one: one and (one.status or {}).get("availableReplicas") == 3
    )

    await namespaces.delete("team")

    await namespaces.wait_deleted("team", timeout_s=60)
    assert not (await stage.client.core_v1.pods.in_all_namespaces().list()).items
    assert not (await stage.client.core_v1.secrets("team").list()).items


async def test_a_namespace_waits_for_its_pods_before_the_rest(stage: Stage) -> None:
    stage.plays = False
    namespaces, pods = stage.client.core_v1.namespaces, stage.client.core_v1.pods("team")
    await namespaces.create({"metadata": {"name": "team"}})
    await stage.client.core_v1.secrets("team").create({"metadata": {"name": "s"}})
    await stage.client.core_v1.nodes.create({"metadata": {"name": "node"}})
    pod = template({}, nodeName="node")
    await pods.create({**pod, "metadata": {"name": "busy"}})

    await namespaces.delete("team")

    def is_waiting(obj: Any) -> bool:
        found = (obj.status or {}).get("conditions") or ()
        return any((c.type, c.status) == ("NamespaceContentRemaining", "True") for c in found)

    await stage.wait(namespaces, "team", is_waiting)
    assert len((await stage.client.core_v1.secrets("team").list()).items) == 1
    await pods.delete("busy", grace_period_s=0)
    await namespaces.wait_deleted("team", timeout_s=60)


async def test_a_finalizer_holds_the_namespace_and_is_named_in_a_condition(stage: Stage) -> None:
    namespaces, maps = stage.client.core_v1.namespaces, stage.client.core_v1.configmaps("team")
    await namespaces.create({"metadata": {"name": "team"}})
    await maps.create({"metadata": {"name": "held", "finalizers": ["example.com/hold"]}})

    await namespaces.delete("team")

    def is_reported(obj: Any) -> bool:
        found = (obj.status or {}).get("conditions") or ()
        return any(
            c.type == "NamespaceFinalizersRemaining" and "example.com/hold in 1" in c.message
            for c in found
        )

    await stage.wait(namespaces, "team", is_reported)
    await maps.patch("held", {"metadata": {"finalizers": None}})
    with contextlib.suppress(NotFound):  # it may have gone by itself
        await namespaces.patch("team", {"metadata": {"labels": {"touched": "yes"}}})
    await namespaces.wait_deleted("team", timeout_s=60)
