"""Instructions that the server's process executes for a request, counted by callgrind.

The one figure that a busy machine hardly changes: two runs differ by a percent. One client asks,
one request at a time: several would share commits, differently in each run. The kernel's work is
not in it. Without valgrind
(Debian: valgrind) there are no rows.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.api_server import around_sent, pod
from benchmarks.api_server._load import Connection, Target, each
from benchmarks.api_server._server import ServerProcess, running_server
from benchmarks.report import Row
from proreus.api.wire import json

WARM, COUNTED = 150, 300
_NAMESPACE = "/api/v1/namespaces/default"
_STRATEGIC = "application/strategic-merge-patch+json"
_TIME = "2026-01-01T00:00:00Z"
_STATUS = {
    "phase": "Running",
    "startTime": _TIME,
    "podIP": "10.1.2.3",
    "podIPs": [{"ip": "10.1.2.3"}],
    "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": _TIME}],
    "containerStatuses": [
        {
            "name": "main",
            "ready": True,
            "restartCount": 0,
            "image": "registry.example.com/team/service:1.2.3",
            "imageID": "",
            "state": {"running": {"startedAt": _TIME}},
        }
    ],
}


def run() -> list[Row]:
    if shutil.which("valgrind") is None:
        return []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        counts = folder / "counts"
        valgrind = ["valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no"]
        valgrind.append(f"--callgrind-out-file={counts}")
        with running_server(folder / "data", folder / "bytecode", under=valgrind) as server:
            return asyncio.run(_Questions(server, counts).all())


@dataclass(slots=True)
class _Questions:
    server: ServerProcess
    counts: Path
    dumped: int = 0

    async def all(self) -> list[Row]:
        target = Target(self.server.port, self.server.token)
        pods, maps = f"{_NAMESPACE}/pods", f"{_NAMESPACE}/configmaps"
        numbers = range(WARM + COUNTED)
        paths = [f"{pods}/web-{number:05}" for number in numbers]
        status = json.encode({"status": _STATUS})
        async with target.connections(1) as connections:

            async def ask(question: str, requests: list[bytes]) -> Row:
                await each(connections, requests[:WARM])
                return Row(question, await self._counted(connections, requests[WARM:]), "k")

            creates = [target.request("POST", pods, pod(number)) for number in numbers]
            rows = [await ask("create of a pod", creates)]
            bodies = [
                json.encode({"metadata": {"name": f"map-{number}"}, "data": {"key": "value"}})
                for number in numbers
            ]
            rows.append(
                await ask(
                    "create of a ConfigMap", [target.request("POST", maps, b) for b in bodies]
                )
            )
            gets = [target.request("GET", path) for path in paths]
            rows.append(await ask("GET of a pod", gets))
            halves = [around_sent(await connections[0].ask(get)) for get in gets]
            puts = [
                target.request("PUT", path, b"%b1%b" % half)
                for path, half in zip(paths, halves, strict=True)
            ]
            rows.append(await ask("update of a pod", puts))
            patches = [
                target.request("PATCH", f"{path}/status", status, _STRATEGIC) for path in paths
            ]
            rows.append(await ask("patch of a pod's status", patches))
            deletes = [target.request("DELETE", f"{path}?gracePeriodSeconds=0") for path in paths]
            rows.append(await ask("delete of a pod", deletes))
        return rows

    async def _counted(self, connections: list[Connection], requests: list[bytes]) -> float:
        """Thousands of instructions of each."""
        self._control("--instr=on")
        await each(connections, requests)
        self._control("--instr=off")
        self._control("--dump")
        self.dumped += 1
        dump = self.counts.with_name(f"{self.counts.name}.{self.dumped}").read_text()
        *_, total = re.findall(r"^totals: (\d+)", dump, re.MULTILINE)
        return int(total) / len(requests) / 1e3

    def _control(self, flag: str) -> None:
        command = ["callgrind_control", flag, str(self.server.pid)]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
