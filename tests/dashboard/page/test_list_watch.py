"""List-watch made visible: the route of a change, and the cluster as it was."""

from __future__ import annotations

from pathlib import Path

import yaml
from playwright.async_api import BrowserContext

from proreus.client import Client
from tests.dashboard.page.seen import SESSION_LOOP, Page
from tests.dashboard.page.workloads import config_map, deployment
from tests.running_server import RunningServer

pytestmark = SESSION_LOOP


async def test_a_change_is_followed_from_its_write_to_the_watchers(
    page: Page, context: BrowserContext, client: Client, cluster: RunningServer
) -> None:
    maps = client.core_v1.configmaps("default")
    await maps.create(config_map("routed"), field_manager="its-writer")
    watching = await Page.open(context, cluster.url)
    await watching.visit("kinds/core/v1/configmaps")
    await watching.row("routed").wait_for()

    await page.visit("route?resource=configmaps&namespace=default&name=routed")
    added = page.tab.locator(".change", has_text="default/routed").filter(has_text="its-writer")
    await added.filter(has_text="added").wait_for()
    await page.tab.get_by_role("button", name="Send a change").click()

    sent = page.tab.locator(".change[aria-selected=true]").filter(has_text="proreus-dashboard")
    await sent.wait_for()
    revision = await sent.locator(".mono").first.inner_text()
    assert revision == (await maps.get("routed"))["metadata"]["resourceVersion"]
    await page.sees(f"Revision {revision}: ingested", ".stop")
    watcher = page.tab.locator(".stop tr", has_text="proreus-dashboard").filter(has_text="✓")
    await watcher.filter(has_text="live").first.wait_for()


async def test_our_own_clients_say_what_they_made_of_it(page: Page, client: Client) -> None:
    await client.apps_v1.deployments("default").create(deployment("acted-upon", 1))

    await page.visit("route?group=apps&resource=deployments&namespace=default&name=acted-upon")

    card = page.tab.locator(".card", has_text="proreus-controllers").filter(has_text="reporting")
    await card.filter(has_text="reflector watching at").wait_for()
    row = card.locator("tr", has_text="default/acted-upon").filter(has_text="update deployments")
    await row.first.wait_for()
    await page.photograph("dashboard-route")


TONES = {
    "watcherTone({phase: 'live', behindEvents: 0, bufferedBytes: 0})": "good",
    "watcherTone({phase: 'catching up', behindEvents: 3, bufferedBytes: 0})": "wait",
    "watcherTone({phase: 'live', behindEvents: 0, bufferedBytes: 100000})": "wait",
    "watcherTone({phase: 'live', behindEvents: 0, bufferedBytes: 2000000})": "bad",
    "watcherTone({phase: 'ending: too slow', behindEvents: 0, bufferedBytes: 0})": "bad",
    "cacheTone({ready: true, revision: 7}, 7)": "good",
    "cacheTone({ready: true, revision: 5}, 7)": "wait",
    "cacheTone({ready: true, revision: 5}, 700)": "bad",
    "cacheTone({ready: false, revision: 7}, 7)": "bad",
    "legTone(3)": "good",
    "legTone(400)": "wait",
    "legTone(4000)": "bad",
    "queueTone(0)": "good",
    "queueTone(5)": "wait",
    "queueTone(500)": "bad",
}


async def test_slow_stops_are_amber_and_stuck_ones_red(page: Page) -> None:
    calls = ", ".join(f"m.{call}" for call in TONES)

    assert await page.module("route/facts.js", f"[{calls}]") == [*TONES.values()]


async def test_the_cluster_is_seen_as_it_was(page: Page, client: Client, tmp_path: Path) -> None:
    maps = client.core_v1.configmaps("default")
    made = await maps.create(config_map("bygone", {"era": "first"}))
    await maps.patch("bygone", {"data": {"era": "second"}})
    await maps.delete("bygone")
    revision = made["metadata"]["resourceVersion"]

    await page.visit(f"time?kind=%2Fconfigmaps&at={revision}")

    await page.row("bygone").wait_for()
    await page.sees(f"{revision}: added configmaps default/bygone", ".travel")
    async with page.tab.expect_download() as downloading:
        await page.tab.get_by_role("button", name="Export as YAML").click()
    target = tmp_path / "moment.yaml"
    await (await downloading.value).save_as(target)
    exported = {one["metadata"]["name"]: one for one in yaml.safe_load_all(target.read_text())}
    assert exported["bygone"]["data"] == {"era": "first"}
    assert exported["bygone"]["kind"] == "ConfigMap"

    await page.tab.get_by_role("button", name="One change on").click()
    await page.sees("modified configmaps default/bygone", ".travel")
    await page.tab.get_by_role("button", name="Play").click()
    await page.gone(page.row("bygone"))
    await page.tab.get_by_role("button", name="Now").click()
    await page.sees("Now. Last change:", ".travel")


async def test_an_object_has_a_history_of_who_changed_what(page: Page, client: Client) -> None:
    maps = client.core_v1.configmaps("default")
    await maps.create(config_map("storied", {"era": "first"}), field_manager="founder")
    await maps.patch("storied", {"data": {"era": "second"}}, field_manager="reformer")

    await page.visit("object/core/v1/configmaps/default/storied?tab=history")

    await page.tab.locator(".version-row[aria-selected=true]", has_text="reformer").wait_for()
    await page.sees("era: first", ".removed")
    await page.sees("era: second", ".added")
    await page.photograph("dashboard-history")
    await page.tab.locator(".version-row", has_text="founder").click()
    await page.sees("era: first", ".added")
    await maps.delete("storied")
    await page.tab.locator(".version-row", has_text="deleted").wait_for()


async def test_workloads_are_played_forward(page: Page, client: Client) -> None:
    made = await client.apps_v1.deployments("default").create(deployment("replayed", 1))
    await client.apps_v1.deployments("default").wait_for(
        "replayed", "condition=Available", timeout_s=60
    )

    await page.visit(f"time?at={made['metadata']['resourceVersion']}")
    await page.row("Deployment").filter(has_text="replayed").filter(has_text="0/1").wait_for()
    assert await page.row("ReplicaSet").filter(has_text="replayed").count() == 0
    await page.tab.get_by_role("button", name="Play").click()

    await page.row("Deployment").filter(has_text="replayed").filter(has_text="1/1").wait_for()
    await page.photograph("dashboard-time-travel")
