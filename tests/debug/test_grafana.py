"""The Grafana board asks for nothing that the server does not measure."""

from __future__ import annotations

import json
import re
from pathlib import Path

from proreus.client import Client, Controller, Request, SharedInformerFactory
from proreus.client.activity import Activity, recorded_in
from proreus.client.activity_report import ActivityReporter
from tests.debug.asking import asking

BOARD = Path(__file__).parents[2] / "docs" / "grafana" / "list-watch.json"
_METRIC = re.compile(r"([a-z_]+)\{instance")


async def test_every_metric_of_the_board_is_one_of_the_servers() -> None:
    board = json.loads(BOARD.read_text())
    asked = {
        metric
        for panel in board["panels"]
        for target in panel.get("targets", ())
        for metric in _METRIC.findall(target["expr"])
    }
    async with asking() as debug:
        await _report(debug.client)
        await debug.client.core_v1.configmaps("default").create({"metadata": {"name": "one"}})
        url = f"{debug.server.url}/api/v1/configmaps?watch=1"
        async with debug.http.get(url, headers=debug.login()) as answer:
            await answer.content.readline()
            text = (await debug.client.get_raw("/metrics")).decode()
    declared = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    served = declared | {f"{name}_bucket" for name in declared}

    assert len(asked) > 10
    assert asked <= served


async def _report(client: Client) -> None:
    async def nothing(request: Request) -> None: ...

    activity = Activity()
    with recorded_in(activity):
        async with SharedInformerFactory(client) as informers:
            controller = Controller(nothing, informers.informer("configmaps"))
            activity.controllers[controller] = None
            informers.start()
            await informers.wait_for_cache_sync(timeout_s=60)
            await ActivityReporter(client, activity, "tests").report()
