"""Operators against a real server: what is registered is reconciled, by one of them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from proreus.api.kinds.core_v1 import ConfigMap
from proreus.api.object import KubeObject
from proreus.client import Client, Result
from proreus.client.eventually import eventually
from proreus.client.operator import (
    LeaderElection,
    Operator,
    Reconciliation,
    StatusCondition,
    Watched,
)
from proreus.client.operator.logs import JsonLines, TextLines, logged_as
from tests.any_server import any_client
from tests.greetings import Greeting

Map = dict[str, Any]


@pytest_asyncio.fixture
async def client(given_kubeconfig: str) -> AsyncIterator[Client]:
    async with any_client(given_kubeconfig) as connected:
        yield connected


@contextlib.asynccontextmanager
async def running(operator: Operator) -> AsyncIterator[asyncio.Task[None]]:
    async def run() -> None:
        await operator

    task = asyncio.create_task(run())
    try:
        yield task
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def config_map(name: str, **data: str) -> Map:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def greeter(client: Client, name: str = "greeter", **options: Any) -> Operator:
    """Writes a greeting into a ConfigMap that the Greeting owns, and says so in its status."""
    where = client.namespace
    operator = Operator(name, client=client, namespace=where, address="127.0.0.1:0", **options)

    @operator.reconciler(Greeting, owns=[ConfigMap], finalizer="example.com/farewell")
    async def reconcile(found: Reconciliation[Greeting]) -> None:
        made = await found.own(config_map(found.name, text=f"Hello {found.value.spec.to}"))
        if made.has_changed:
            found.event("Greeted", f"{found.value.spec.to} was greeted")
        await found.set_status({"by": name}, StatusCondition("Ready", True, "Greeted"))

    @reconcile.finalize
    async def farewell(found: Reconciliation[Greeting]) -> None:
        await found.client.core_v1.configmaps(client.namespace).create(config_map("farewell"))

    return operator


async def test_it_owns_what_it_makes_and_writes_status_events_and_farewell(client: Client) -> None:
    maps = client.core_v1.configmaps(client.namespace)
    async with running(greeter(client)):
        greetings = client.resource("greetings.example.com")(client.namespace)
        crds = client.resource("customresourcedefinitions.apiextensions.k8s.io")
        await crds.wait_for("greetings.example.com", "condition=Established", timeout_s=60)
        body = {"apiVersion": "example.com/v1", "kind": "Greeting", "spec": {"to": "Ann"}}
        await greetings.create({**body, "metadata": {"name": "g"}})
        done = await greetings.wait_for("g", "condition=Ready", timeout_s=60)
        made = await maps.get("g")
        await maps.delete("g")
        mended = await maps.wait_for("g", lambda it: it.uid != made.uid, timeout_s=60)
        event = await eventually(lambda: _event(client, "Greeted"))
        await greetings.delete("g")
        await maps.wait_for("farewell", "create", timeout_s=60)
        await greetings.wait_deleted("g", timeout_s=60)

    assert made["data"]["text"] == mended["data"]["text"] == "Hello Ann"
    assert made["metadata"]["ownerReferences"][0].controller
    (condition,) = done.status.conditions
    assert (condition.reason, condition.observedGeneration) == ("Greeted", 1)
    assert done.metadata.finalizers == ["example.com/farewell"]
    assert event.involvedObject.name == "g" and event.source.component == "greeter"


async def _event(client: Client, reason: str) -> KubeObject | None:
    events = await client.core_v1.events(client.namespace).list()
    return next((one for one in events.items if one.reason == reason), None)


async def test_a_class_reconciles_what_it_watches_and_one_standby_takes_over(
    client: Client,
) -> None:
    maps = client.core_v1.configmaps(client.namespace)
    working: list[str] = []

    def counter(name: str) -> Operator:
        election = LeaderElection(lease="counter", identity=name)
        operator = Operator(
            name, client=client, namespace=client.namespace, address="", leader_election=election
        )
        watched = Watched("secrets", keys=lambda secret: [secret.key])

        @operator.reconciler("configmaps", watches=[watched], label_selector="count")
        class Counting:
            async def reconcile(self, found: Reconciliation[KubeObject]) -> Result | None:
                working.append(name)
                seen = int(found.value.data.seen) + 1
                await maps.patch(found.name, {"data": {"seen": str(seen), "by": name}})
                return None

        return operator

    counted = config_map("c", seen="0")
    counted["metadata"]["labels"] = {"count": "yes"}
    await maps.create(counted)
    async with running(counter("second")) as second:
        await maps.wait_for("c", lambda it: it["data"].get("by") == "second", timeout_s=60)
        async with running(counter("first")):
            second.cancel()
            await client.core_v1.secrets(client.namespace).create({"metadata": {"name": "c"}})
            await maps.wait_for("c", lambda it: it["data"].get("by") == "first", timeout_s=60)

    assert "second" not in working[working.index("first") :]


async def test_health_readiness_and_metrics_are_served(client: Client) -> None:
    operator = greeter(client)
    async with running(operator), httpx.AsyncClient() as http:

        async def get(path: str) -> tuple[int, str]:
            answer = await http.get(operator.url + path)
            return answer.status_code, answer.text

        await eventually(lambda: operator.url)
        await eventually(lambda: operator.is_working)
        alive, ready, unknown = await get("/healthz"), await get("/readyz"), await get("/x")
        _, metrics = await get("/metrics")

    assert (alive, ready, unknown[0]) == ((200, "ok\n"), (200, "ok\n"), 404)
    for name in (
        "workqueue_depth",
        "controller_runtime_max_concurrent_reconciles",
        'leader_election_master_status{name="greeter"} 1.0',
        f'informer_queued_items{{name="configmaps in {client.namespace}"}}',
    ):
        assert name in metrics


async def test_it_is_not_ready_before_its_caches_are_and_says_why(client: Client) -> None:
    operator = Operator("waiting", client=client, address="127.0.0.1:0")

    @operator.reconciler("nothings.example.com")
    async def reconcile(found: Reconciliation[KubeObject]) -> None:
        raise AssertionError("there are none")

    async with running(operator), httpx.AsyncClient() as http:
        await eventually(lambda: operator.url)

        async def said() -> str:
            answer = await http.get(operator.url + "/readyz")
            assert answer.status_code == 503
            return answer.text if "does not have" in answer.text else ""

        assert "nothings.example.com not synced" in await eventually(said)


async def test_a_finalizer_is_kept_until_the_farewell_is_done(client: Client) -> None:
    maps, tried = client.core_v1.configmaps(client.namespace), 0
    operator = Operator(
        "slow", client=client, namespace=client.namespace, address="", leader_election=None
    )

    @operator.reconciler("configmaps", label_selector="slow", finalizer="example.com/slow")
    async def reconcile(found: Reconciliation[KubeObject]) -> None:
        return None

    @reconcile.finalize
    async def finalize(found: Reconciliation[KubeObject]) -> Result | None:
        nonlocal tried
        tried += 1
        return Result(requeue_after_s=0.01) if tried < 3 else None

    slow = config_map("s")
    slow["metadata"]["labels"] = {"slow": "yes"}
    await maps.create(slow)
    async with running(operator):
        await maps.wait_for("s", lambda it: bool(it.metadata.finalizers), timeout_s=60)
        await maps.delete("s")
        await maps.wait_deleted("s", timeout_s=60)

    assert tried == 3


async def test_what_cannot_work_is_refused_at_the_start(client: Client) -> None:
    with pytest.raises(ValueError, match="no address"):
        Operator("x", client=client, address="8080")
    with pytest.raises(ValueError, match="no reconcilers"):
        await Operator("x", client=client, address="")
    lacking = Operator("x", client=client, address="")

    @lacking.reconciler("pods", finalizer="example.com/x")
    async def reconcile(found: Reconciliation[KubeObject]) -> None:
        return None

    with pytest.raises(ValueError, match="has no finalize function"):
        await lacking
    with pytest.raises(RuntimeError, match="make a new one"):
        await lacking


def test_log_lines_name_the_object_they_are_about() -> None:
    record = logging.LogRecord("x", logging.INFO, "f", 1, "done: count=%d", (3,), None)
    with logged_as(controller="web"), logged_as(object="default/a", attempt=2):
        line, text = json.loads(JsonLines().format(record)), TextLines().format(record)

    assert (line["message"], line["controller"], line["object"]) == (
        "done: count=3",
        "web",
        "default/a",
    )
    assert line["attempt"] == 2 and line["level"] == "info"
    assert text.endswith("INFO x done: count=3 controller=web object=default/a attempt=2")
