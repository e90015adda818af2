"""What our own clients report of themselves, on the page and as metrics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from proreus.aio.tasks import background
from proreus.client import Controller, Operator, Request, SharedInformerFactory
from proreus.client.activity import Activity, recorded_in
from proreus.client.activity_report import ActivityReporter
from proreus.testing.granting import Grant
from tests.debug.asking import Asking, asking

CLIENTS = "/debug/listwatch/clients"


@pytest_asyncio.fixture
async def debug() -> AsyncIterator[Asking]:
    async with asking() as opened:
        yield opened


async def _written(debug: Asking, identity: str) -> dict[str, Any] | None:
    """A report in which a reconcile has written something, if there is one."""
    for found in (await debug.get(CLIENTS))["clients"]:
        writings = [one["lastWriting"] for one in found["controllers"]]
        if found["identity"].startswith(identity) and any(writings):
            return dict(found)
    return None


async def test_a_controller_reports_its_queue_its_reconciles_and_their_writes(
    debug: Asking,
) -> None:
    maps = debug.client.core_v1.configmaps("default")

    async def label(request: Request) -> None:
        if request.object is not None and request.name == "one":
            await maps.patch("one", {"metadata": {"labels": {"seen": "yes"}}})

    activity, found = Activity(), None
    reporter = ActivityReporter(debug.client, activity, "labels")
    with recorded_in(activity):
        async with SharedInformerFactory(debug.client) as informers:
            controller = Controller(label, informers.informer("configmaps", namespace="default"))
            informers.start()
            async with background(controller.run()), asyncio.timeout(60):
                made = await maps.create({"metadata": {"name": "one"}})
                while found is None:
                    await reporter.report()
                    found = await _written(debug, "labels")
                metrics = (await debug.client.get_raw("/metrics")).decode()

    assert found["user"] == "kubernetes-admin"
    assert found["updatedAt"]
    (informer,) = found["informers"]
    assert (informer["resource"], informer["namespace"]) == ("configmaps", "default")
    assert informer["synced"]
    assert int(informer["resourceVersion"]) >= int(made.resource_version)
    assert [one["name"] for one in informer["handlers"]] == [f"controller {controller.name}"]
    (described,) = found["controllers"]
    assert described["reconciles"] >= 1
    assert described["failures"] == 0
    writing = described["lastWriting"]
    assert (writing["key"], writing["result"]) == ("default/one", "success")
    (write,) = writing["writes"]
    assert (write["verb"], write["resource"], write["name"]) == (
        "patch", "configmaps", "default/one",
    )  # fmt: skip
    assert write["revision"] > int(made.resource_version)
    labels = f'{{client="labels",name="{controller.name}",user="kubernetes-admin"}}'
    assert f"proreus_client_workqueue_depth{labels} " in metrics
    assert f"proreus_client_reconciles_total{labels}" in metrics


async def test_an_operator_reports_if_it_is_asked_to(debug: Asking) -> None:
    operator = Operator(
        "labeller", client=debug.client, leader_election=None, address="", reports_activity=True
    )

    @operator.reconciler("configmaps")
    async def label(request: Any) -> None:
        if request.name == "one":
            maps = debug.client.core_v1.configmaps("default")
            await maps.patch("one", {"metadata": {"labels": {"seen": "yes"}}})

    async def run() -> None:
        await operator

    found = await _written(debug, "labeller ")  # somebody looks: reports come every two seconds
    async with background(run()), asyncio.timeout(60):
        await debug.client.core_v1.configmaps("default").create({"metadata": {"name": "one"}})
        while found is None:
            found = await _written(debug, "labeller ")

    assert len(found["controllers"]) == len(found["informers"]) == 1


async def test_a_refused_reporter_reports_no_more(debug: Asking) -> None:
    async with debug.server.client_as("ann") as ann:
        reporter = ActivityReporter(ann, Activity(), "of ann")
        assert await reporter.report() is None

        await debug.server.grant("ann", Grant({CLIENTS: ["post"]}))
        assert await reporter.report() is not None

    (found,) = (await debug.get(CLIENTS))["clients"]
    assert (found["identity"], found["user"]) == ("of ann", "ann")


async def test_a_server_without_such_a_page_is_asked_no_more(
    debug: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proreus.client.activity_report.PATH", "/debug/no-such-page")

    assert await ActivityReporter(debug.client, Activity(), "one").report() is None


async def test_watches_are_measured(debug: Asking) -> None:
    asked = f"{debug.server.url}/api/v1/configmaps?watch=1"
    async with asyncio.timeout(60), debug.http.get(asked, headers=debug.login()) as answer:
        await answer.content.readline()
        metrics = (await debug.client.get_raw("/metrics")).decode()

    labels = '{group="",resource="configmaps"}'
    assert f"proreus_watch_buffered_bytes{labels} 0" in metrics
    assert f"proreus_watch_behind_events_max{labels} 0" in metrics
    assert f"proreus_watch_catching_up{labels} 0" in metrics
    assert f"proreus_watch_cache_window_events{labels}" in metrics
    assert "proreus_storage_oldest_revision 0" in metrics
