"""One cluster, first with simulated nodes and then with real processes, and back again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.client import Client
from proreus.cluster.kubelet.kubelet import Kubelet
from proreus.cluster.kubelet.settings import KubeletSettings, RuntimeName
from proreus.testing.server import RunningServer
from tests.cluster.process_runtime.conftest import NODE, Stage, shell, state


async def test_pods_live_on_under_another_runtime_and_can_be_deleted_there(
    server: RunningServer, tmp_path: Path
) -> None:
    folder = tmp_path / "kubelet"
    async with Client(replace(server.config(), rate_limit=None)) as client:
        stage = Stage(server, client, folder)
        await stage.run("web", shell("sleep 1000"), terminationGracePeriodSeconds=1)

        seen: list[tuple[str, str]] = []
        runtimes: tuple[RuntimeName, ...] = ("simulated", "process", "simulated")
        for runtime in runtimes:
            settings = KubeletSettings(runtime, folder)
            async with background(Kubelet(client, SystemClock(), [NODE], settings).run()):
                pod = await stage.until(
                    "web",
                    lambda pod, runtime=runtime: (  # type: ignore[misc]  # bound to this turn
                        bool(pod.status.containerStatuses)
                        and state(pod).containerID.startswith(f"{runtime}://")
                        and bool(state(pod).state.running)
                    ),
                )
                seen.append((pod.status.hostIP, pod.status.podIP))
                if len(seen) == len(runtimes):
                    await stage.delete("web")

    assert [host for host, _ in seen] == ["172.20.0.1", "127.0.0.1", "172.20.0.1"]
    assert [address.split(".")[0] for _, address in seen] == ["10", "127", "10"]
