"""Quotas over the wire: counted, charged, never exceeded, and given back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.api.status import Forbidden
from tests.cluster.controllers.stage import Stage, finished, status_of, template

CONTROLLERS = ("resourcequota",)


def quota(hard: dict[str, str], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "few"}, "spec": {"hard": hard, **spec}}


def uses(**amounts: str) -> Any:
    """So much; ``_`` stands for the characters that no name in Python has."""

    def holds(obj: KubeObject | None) -> bool:
        used = status_of(obj).get("used") or {}
        plain = {name.replace("/", "_").replace(".", "_"): v for name, v in used.items()}
        return plain == amounts

    return holds


def pod(name: str, cpu: str = "") -> dict[str, Any]:
    spec = template({})["spec"]
    if cpu:
        spec["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return {"metadata": {"name": name}, "spec": spec}


async def test_what_is_there_is_counted_and_what_goes_is_given_back(stage: Stage) -> None:
    quotas = stage.client.core_v1.resourcequotas("default")
    pods, maps = stage.client.core_v1.pods("default"), stage.client.core_v1.configmaps("default")
    await pods.create(pod("a", "500m"))
    await maps.create({"metadata": {"name": "m"}})
    hard = {"pods": "3", "requests.cpu": "2", "count/configmaps": "5"}

    await quotas.create(quota(hard))
    counted = {"pods": "1", "requests_cpu": "500m", "count_configmaps": "1"}
    await stage.wait(quotas, "few", uses(**counted))

    await maps.delete("m")
    await pods.patch_status("a", finished("Succeeded"))
    freed = {"pods": "0", "requests_cpu": "0", "count_configmaps": "0"}
    done = await stage.wait(quotas, "few", uses(**freed))
    assert done is not None
    assert dict(done.status.hard) == hard


async def test_beyond_a_quota_nothing_is_created(stage: Stage) -> None:
    quotas, pods = (
        stage.client.core_v1.resourcequotas("default"),
        stage.client.core_v1.pods("default"),
    )
    await quotas.create(quota({"pods": "1", "requests.cpu": "1"}))
    await stage.wait(quotas, "few", uses(pods="0", requests_cpu="0"))
    await pods.create(pod("a", "700m"))

    with pytest.raises(Forbidden) as refused:
        await pods.create(pod("b", "400m"))
    assert refused.value.message == (
        'pods "b" is forbidden: exceeded quota: few, requested: pods=1,requests.cpu=400m, '
        "used: pods=1,requests.cpu=700m, limited: pods=1,requests.cpu=1"
    )
    with pytest.raises(Forbidden, match=r"failed quota: few: must specify requests\.cpu for: main"):
        await pods.create(pod("c"))

    await pods.delete("a")
    await stage.wait(quotas, "few", uses(pods="0", requests_cpu="0"))
    await pods.create(pod("b", "400m"))


async def test_many_at_once_do_not_get_more_than_there_is(stage: Stage) -> None:
    quotas, pods = (
        stage.client.core_v1.resourcequotas("default"),
        stage.client.core_v1.pods("default"),
    )
    await quotas.create(quota({"pods": "7"}))
    await stage.wait(quotas, "few", uses(pods="0"))

    async def attempt(number: int) -> bool:
        try:
            await pods.create(pod(f"p{number}"))
        except Forbidden:
            return False
        return True

    for start in (0, 40):
        granted = await asyncio.gather(*(attempt(start + n) for n in range(40)))
        assert sum(granted) == 7
        assert len((await pods.list()).items) == 7
        for one in (await pods.list()).items:
            await pods.delete(one.name, grace_period_s=0)
        await stage.wait(quotas, "few", uses(pods="0"))


async def test_scopes_choose_what_a_quota_is_about(stage: Stage) -> None:
    quotas, pods = (
        stage.client.core_v1.resourcequotas("default"),
        stage.client.core_v1.pods("default"),
    )
    await quotas.create(quota({"pods": "1"}, scopes=["BestEffort"]))
    await stage.wait(quotas, "few", uses(pods="0"))
    await pods.create(pod("careless"))
    await pods.create(pod("careful", "1"))

    with pytest.raises(Forbidden, match="exceeded quota: few"):
        await pods.create(pod("careless-too"))

    await stage.wait(quotas, "few", uses(pods="1"))


async def test_a_service_that_grows_is_charged_and_one_that_shrinks_gives_back(
    stage: Stage,
) -> None:
    quotas, services = (
        stage.client.core_v1.resourcequotas("default"),
        stage.client.core_v1.services("default"),
    )
    await quotas.create(quota({"services.nodeports": "1"}))
    await stage.wait(quotas, "few", uses(services_nodeports="0"))
    for name in ("a", "b"):
        await services.create({"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}})

    await services.patch("a", {"spec": {"type": "NodePort"}})
    with pytest.raises(Forbidden, match=r"requested: services\.nodeports=1"):
        await services.patch("b", {"spec": {"type": "NodePort"}})

    await services.patch("a", {"spec": {"type": "ClusterIP"}})
    await stage.wait(quotas, "few", uses(services_nodeports="0"))


async def test_a_resource_that_does_not_exist_is_used_by_nobody(stage: Stage) -> None:
    quotas = stage.client.core_v1.resourcequotas("default")
    await quotas.create(quota({"count/widgets.example.com": "1"}))

    await stage.wait(quotas, "few", uses(count_widgets_example_com="0"))
