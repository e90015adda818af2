"""What does the dashboard cost its browser with 10,000 pods, while 500 of them change a second?

The page is in Chromium, over the wire; server and writer share this process. Frames are counted by
the page itself; what its main thread did comes from the browser's own metrics, which other load on
the machine does not change.
"""

from __future__ import annotations

import asyncio
import shutil
import statistics
import time
from typing import Any

from benchmarks.report import Row
from proreus.aio.clock import SystemClock
from proreus.cli.dashboard_mount import served_dashboard
from proreus.client import Client
from proreus.testing.server import running_server

CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PODS = 10_000
UPDATES_PER_S = 500
MEASURED_S = 10.0
AT_ONCE = 50
FRAMES = """() => {
    window.frames_ = [];
    let last = performance.now();
    const tick = now => { frames_.push(now - last); last = now; requestAnimationFrame(tick); };
    requestAnimationFrame(tick);
}"""


def run() -> list[Row]:
    if shutil.which(CHROMIUM) is None:
        return [Row(f"left out: {CHROMIUM} is not installed", 0, "")]
    table = asyncio.run(measure("#/kinds/core/v1/pods?sort=Restarts&down=1"))
    return [*table, *asyncio.run(measure("#/workloads", "workloads: "))]


async def measure(place: str, what: str = "") -> list[Row]:
    from playwright.async_api import async_playwright

    async with (
        async_playwright() as playwright,
        running_server() as server,
        served_dashboard(server.api, SystemClock()) as dashboard,
        server.client() as client,
    ):
        await make_pods(client)
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = await browser.new_page(viewport={"width": 1280, "height": 760})
        begun = time.perf_counter()
        await page.goto(server.url + await dashboard.login_path(server.token))
        await page.evaluate("place => { location.hash = place }", place)
        await page.locator(".bar", has_text="10,000").wait_for(timeout=120_000)
        shown_s = time.perf_counter() - begun
        devtools = await page.context.new_cdp_session(page)
        await devtools.send("Performance.enable")
        await page.evaluate(FRAMES)
        before = await metrics(devtools)
        sent, wall_s = await change_pods(client)
        after = await metrics(devtools)
        frames = [float(one) for one in await page.evaluate("frames_")]
        await devtools.send("HeapProfiler.enable")
        await devtools.send("HeapProfiler.collectGarbage")
        heap = await devtools.send("Runtime.getHeapUsage")
        await browser.close()
    busy = after["TaskDuration"] - before["TaskDuration"]
    layout = after["LayoutDuration"] + after["RecalcStyleDuration"]
    layout -= before["LayoutDuration"] + before["RecalcStyleDuration"]
    return [
        Row(f"{what}pods listed and shown after", shown_s, "s"),
        Row(f"{what}JavaScript heap, 10,000 pods", heap["usedSize"] / 2**20, "MiB", 150),
        Row(f"{what}updates that arrived per second", sent / wall_s, "/s"),
        Row(
            f"{what}frames per second meanwhile",
            len(frames) / wall_s,
            "/s",
            55,
            higher_is_better=True,
        ),
        Row(f"{what}median time between frames", statistics.median(frames), "ms"),
        Row(f"{what}95 of 100 frames within", statistics.quantiles(frames, n=20)[-1], "ms"),
        Row(f"{what}main thread busy", 100 * busy / wall_s, "%"),
        Row(f"{what}main thread per update", 1e6 * busy / sent, "µs"),
        Row(f"{what}of that style and layout", 1e6 * layout / sent, "µs"),
    ]


async def metrics(devtools: Any) -> dict[str, float]:
    answer = await devtools.send("Performance.getMetrics")
    return {one["name"]: one["value"] for one in answer["metrics"]}


async def make_pods(client: Client) -> None:
    turns = asyncio.Semaphore(AT_ONCE)
    spec = {
        "containers": [{"name": "main", "image": "any"}],
        "automountServiceAccountToken": False,
    }
    pods = client.core_v1.pods("default")

    async def create(index: int) -> None:
        async with turns:
            await pods.create({"metadata": {"name": f"pod-{index:05}"}, "spec": spec})

    await client.core_v1.serviceaccounts("default").create({"metadata": {"name": "default"}})
    await asyncio.gather(*map(create, range(PODS)))


async def change_pods(client: Client) -> tuple[int, float]:
    """How many statuses were written in how long; the order of the rows changes with them."""
    pods = client.core_v1.pods("default")
    begun = time.perf_counter()
    sent = 0

    async def change(index: int) -> None:
        state = {"name": "main", "ready": index % 2 == 0, "restartCount": index % 97}
        state |= {"image": "any", "imageID": "", "state": {"running": {}}}
        name = f"pod-{index * 7919 % PODS:05}"
        status = {"phase": "Running", "containerStatuses": [state]}
        await pods.patch(name, {"status": status}, subresource="status")

    while (passed := time.perf_counter() - begun) < MEASURED_S:
        due = int(passed * UPDATES_PER_S) - sent
        await asyncio.gather(*(change(sent + one) for one in range(min(due, AT_ONCE))))
        sent += min(due, AT_ONCE)
        await asyncio.sleep(0.01)
    return sent, time.perf_counter() - begun
