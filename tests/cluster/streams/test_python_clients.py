"""The official Python client and kr8s, which speak the older channels, and our own client."""

from __future__ import annotations

import asyncio
import gc
import json
import ssl
import warnings
from pathlib import Path
from typing import Any

import kr8s
import kubernetes
import pytest
import websockets
from kr8s.asyncio.objects import Pod
from kubernetes.stream import portforward, stream

from tests.cluster.streams.conftest import Stage
from tests.cluster.streams.test_port_forward import BODY, Web, get, web  # noqa: F401
from tests.ports import reserved_port

Api = kubernetes.client.CoreV1Api


@pytest.fixture
def official(tmp_path: Path, stage: Stage) -> Any:
    config = kubernetes.client.Configuration()
    kubernetes.config.load_kube_config(str(tmp_path / "kubeconfig"), client_configuration=config)
    with kubernetes.client.ApiClient(config) as connected:
        yield connected
    with warnings.catch_warnings():
        # The client leaves its own socket open when a server closes it.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


async def test_the_official_client_reads_and_follows_logs(stage: Stage, official: Any) -> None:
    log = stage.streams.log((await stage.pod()).uid)
    await log.write("one", "two")
    await log.end()
    api = Api(official)

    read = await asyncio.to_thread(api.read_namespaced_pod_log, "web", "default", tail_lines=1)
    followed = await asyncio.to_thread(
        lambda: b"".join(
            api.read_namespaced_pod_log(
                "web", "default", follow=True, _preload_content=False
            ).stream()
        )
    )

    assert read == "two\n"
    assert followed == b"one\ntwo\n"


async def test_the_official_client_runs_a_command(stage: Stage, official: Any) -> None:
    await stage.pod()

    script = "read word; echo got $word; echo no >&2; exit 4"

    def run() -> tuple[str, str, int]:
        running = stream(
            Api(official).connect_get_namespaced_pod_exec,
            "web", "default", command=["sh", "-c", script],
            stdin=True, stdout=True, stderr=True, tty=False, _preload_content=False,
        )  # fmt: skip
        running.write_stdin("hello\n")
        running.run_forever(timeout=60)
        said = running.read_stdout(), running.read_stderr(), running.returncode
        running.close()
        return said

    assert await asyncio.to_thread(run) == ("got hello\n", "no\n", 4)


async def test_the_official_client_forwards_a_port(
    stage: Stage,
    official: Any,
    web: Web,  # noqa: F811
) -> None:
    await stage.pod()

    def fetch() -> bytes:
        forward = portforward(
            Api(official).connect_get_namespaced_pod_portforward,
            "web", "default", ports=str(web.port),
        )  # fmt: skip
        socket = forward.socket(web.port)
        socket.setblocking(True)
        socket.settimeout(60)
        socket.sendall(b"GET /official HTTP/1.1\r\nHost: pod\r\n\r\n")
        seen = b""
        while not seen.endswith(BODY[-100:]):
            seen += socket.recv(1 << 20)
        forward.close()
        return seen.split(b"\r\n\r\n", 1)[1]

    assert await asyncio.to_thread(fetch) == BODY


async def test_the_official_client_hears_of_a_closed_port(stage: Stage, official: Any) -> None:
    await stage.pod()

    def fail() -> str:
        forward = portforward(
            Api(official).connect_get_namespaced_pod_portforward, "web", "default", ports="1"
        )
        socket = forward.socket(1)
        socket.settimeout(60)
        assert socket.recv(1) == b""
        forward.close()
        return str(forward.error(1))

    assert "error forwarding port 1 to pod web" in await asyncio.to_thread(fail)


@pytest.fixture
async def with_kr8s(tmp_path: Path, stage: Stage) -> Any:
    kr8s.Api._instances.clear()
    return await kr8s.asyncio.api(kubeconfig=str(tmp_path / "kubeconfig"), namespace="default")


@pytest.mark.filterwarnings("ignore:.*Kubernetes version.*:UserWarning")
async def test_kr8s_reads_logs_runs_commands_and_forwards_ports(
    stage: Stage,
    with_kr8s: Any,
    web: Web,  # noqa: F811
) -> None:
    made = await stage.pod()
    await stage.streams.log(made.uid).write("one", "two")
    pod = await Pod.get("web", namespace="default", api=with_kr8s)

    lines = [line async for line in pod.logs()]
    done = await pod.exec(["sh", "-c", "echo out; exit 3"], check=False)
    # The client's own choice of a port is taken by chance from those of outgoing connections.
    with reserved_port() as chosen:
        async with pod.portforward(web.port, local_port=chosen) as port:
            body = await get(port, "/kr8s")

    assert lines == ["one", "two"]
    assert (done.stdout, done.returncode) == (b"out\n", 3)
    assert body == BODY


@pytest.mark.parametrize(
    ("protocol", "first", "last"),
    [
        ("v4.base64.channel.k8s.io", b"1", "3"),
        ("base64.channel.k8s.io", b"1", ""),
        ("channel.k8s.io", b"\x01", ""),
    ],
)
async def test_the_other_spellings_of_channels(
    stage: Stage, protocol: str, first: bytes, last: str
) -> None:
    await stage.pod()
    files = stage.server.api.credentials.tls
    assert files is not None
    trust = ssl.create_default_context(cafile=str(files.authority.certificate))
    url = stage.server.url.replace("https", "wss")
    path = "/api/v1/namespaces/default/pods/web/exec?stdout=1&command=echo&command=hi"

    async with websockets.connect(
        url + path,
        ssl=trust,
        subprotocols=[websockets.Subprotocol(protocol)],
        additional_headers={"Authorization": f"Bearer {stage.server.token}"},
    ) as socket:
        said = [message async for message in socket]

    raw = [one.encode() if isinstance(one, str) else one for one in said]
    assert raw[0] == first
    if last:
        import base64

        assert json.loads(base64.b64decode(raw[-1][1:]))["status"] == "Success"
        assert base64.b64decode(raw[1][1:]) == b"hi\n"
    else:
        assert len(raw) == 2
