"""``proreus server --workers``: processes that share a port, and the one that owns them."""

from __future__ import annotations

import contextlib
import os
import signal
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.processes import wait_gone
from tests.real_etcd import EtcdCluster, started_etcd
from tests.running_server import RunningServer, running_server

WITHIN_S = 60


@pytest.fixture
def etcd() -> Iterator[EtcdCluster]:
    with started_etcd() as cluster:
        yield cluster


@pytest.fixture
def server(etcd: EtcdCluster, tmp_path: Path) -> Iterator[RunningServer]:
    with running_server(tmp_path, "--etcd", *etcd.endpoints, "--workers", "2") as running:
        yield running


def workers_of(server: RunningServer) -> dict[int, int]:
    """Process ids by the number of the worker."""
    owner, found = server.process.pid, {}
    for pid in Path(f"/proc/{owner}/task/{owner}/children").read_text().split():
        with contextlib.suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").split("\0")
            if command[-2:-1] == ["proreus.cli.workers.worker"]:
                found[int(command[-1])] = int(pid)
    return found


def wait_until(is_so: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + WITHIN_S
    while not is_so():
        assert time.monotonic() < give_up_at
        time.sleep(0.02)


class Caller:
    """Asks the server, each time over a connection of its own."""

    def __init__(self, server: RunningServer) -> None:
        self._server = server
        self._tls = ssl.create_default_context(cafile=server.ca_file)
        self._headers = {"Authorization": f"Bearer {server.token}"}

    @contextlib.contextmanager
    def asked(self, path: str, method: str = "GET", **body: object) -> Iterator[httpx.Response]:
        """The answer, while its connection is open."""
        with httpx.Client(verify=self._tls, headers=self._headers, timeout=WITHIN_S) as client:
            answer = client.request(method, f"{self._server.url}{path}", **body)  # type: ignore[arg-type]  # json=
            yield answer

    def answered_by(self, answer: httpx.Response) -> int:
        """The number of the worker that has the other end of the connection."""
        port = answer.extensions["network_stream"].get_extra_info("client_addr")[1]
        ends = (int(self._server.url.rpartition(":")[2]), port)
        inode = next(
            fields[9]
            for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
            if (fields := line.split()) and _ports(fields[1], fields[2]) == ends
        )
        for number, pid in workers_of(self._server).items():
            for file in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    if str(file.readlink()) == f"socket:[{inode}]":
                        return number
        raise AssertionError("no worker has it")


def _ports(*addresses: str) -> tuple[int, ...]:
    return tuple(int(one.rpartition(":")[2], 16) for one in addresses)


async def test_two_workers_are_one_server(server: RunningServer) -> None:
    """One that is killed is missed by nobody who comes anew, and is started again; the owner
    ends after all of them."""
    caller = Caller(server)
    maps = "/api/v1/namespaces/default/configmaps"
    seen: set[int] = set()
    written = 0

    def see(wanted: set[int]) -> None:
        """Write and read over new connections until all of these have answered."""
        nonlocal written
        seen.clear()
        give_up_at = time.monotonic() + WITHIN_S
        while seen != wanted:
            assert time.monotonic() < give_up_at
            written += 1
            made = {"metadata": {"name": f"made-{written}"}}
            with caller.asked(maps, "POST", json=made) as answer:
                assert answer.status_code == 201
            with caller.asked(f"{maps}/made-{written}") as answer:
                assert answer.status_code == 200
                seen.add(caller.answered_by(answer))

    with caller.asked("/readyz") as answer:
        assert answer.text == "ok"
    see({1, 2})

    with caller.asked("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases") as answer:
        leases = [lease["metadata"]["name"] for lease in answer.json()["items"]]
    assert len(leases) == 1, "workers are one server and have one identity"

    with caller.asked("/metrics") as answer:
        page = answer.text
    for number in (1, 2):
        assert f'proreus_worker_up{{worker="{number}"}} 1\n' in page
        assert f'apiserver_request_total{{worker="{number}",' in page

    before = workers_of(server)
    os.kill(before[1], signal.SIGKILL)
    log = server.kubeconfig.parent / "proreus.log"
    wait_until(lambda: log.exists() and "a worker is ready again" in log.read_text())
    after = workers_of(server)
    assert after[2] == before[2]
    assert after[1] != before[1]
    see({1, 2})
    said = [line for line in log.read_text().splitlines() if "a worker died" in line]
    assert len(said) == 1
    assert '"worker": 1' in said[0]
    assert "killed by SIGKILL" in said[0]

    server.process.send_signal(signal.SIGTERM)

    assert server.process.wait(timeout=WITHIN_S) == 0
    for pid in after.values():
        await wait_gone(pid)
