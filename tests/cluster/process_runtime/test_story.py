"""The whole story with real programs: a web server, deployed, configured, updated and ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tests.cluster.up.kubectl import Kubectl, kubectl_of
from tests.kubectl import needs_kubectl
from tests.ports import reserved_port
from tests.processes import wait_gone
from tests.running_server import RunningServer, running_server

pytestmark = needs_kubectl

WEB = """
import http.server, os, pathlib, signal, sys
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = pathlib.Path("etc/site/text").read_text()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"{text} {os.environ['COLOR']} {os.environ['POD']}".encode())
def end(*_):
    print("ending", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
address = os.environ["POD_IP"], int(os.environ["PORT"])
print("listening", flush=True)
http.server.ThreadingHTTPServer(address, Page).serve_forever()
"""


def deployment(port: int, color: str) -> str:
    def field(name: str, path: str) -> dict[str, object]:
        return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}

    from_map = {"configMapKeyRef": {"name": "site", "key": "text"}}
    env = [
        field("POD", "metadata.name"),
        field("POD_IP", "status.podIP"),
        {"name": "TEXT", "valueFrom": from_map},
        {"name": "PORT", "value": str(port)},
        {"name": "COLOR", "value": color},
    ]
    container = {
        "name": "web",
        "image": "none",
        "command": ["python3", "-c", WEB],
        "env": env,
        "ports": [{"name": "http", "containerPort": port}],
        "readinessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 1},
        "livenessProbe": {"tcpSocket": {"port": "http"}, "initialDelaySeconds": 30},
        "volumeMounts": [{"name": "site", "mountPath": "/etc/site"}],
    }
    pod = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {
            "terminationGracePeriodSeconds": 5,
            "containers": [container],
            "volumes": [{"name": "site", "configMap": {"name": "site"}}],
        },
    }
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": pod}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    return json.dumps({**body, "spec": spec})


@contextlib.contextmanager
def forwarded(cluster: RunningServer, target: str, port: int) -> Iterator[str]:
    process = subprocess.Popen(
        ["kubectl", "port-forward", target, f":{port}"],
        stdout=subprocess.PIPE, text=True, env=cluster.environment,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield f"http://{process.stdout.readline().split()[2]}/"
    finally:
        process.kill()
        process.communicate(timeout=60)


def read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return str(answer.read().decode())


def containers_of(process: subprocess.Popen[str]) -> list[int]:
    """Its children, but the one that stands guard, and those that end meanwhile."""
    said = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    found = []
    for pid in map(int, said.split()):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if b"PROREUS_ROOT=" in Path(f"/proc/{pid}/environ").read_bytes():
                found.append(pid)
    return found


def pods_of(kubectl: Kubectl, count: int) -> list[str]:
    """Once there are so many, those that are on their way out included."""
    names = ("get", "pods", "-l", "app=web", "-o", "name")
    return kubectl.until(lambda said: len(said.split()) == count, *names).split()


def test_a_web_server_is_deployed_configured_updated_and_ended(tmp_path: Path) -> None:
    with (
        reserved_port() as port,
        running_server(tmp_path, "--runtime", "process", command="up") as cluster,
    ):
        kubectl = kubectl_of(cluster)
        kubectl("wait", "--for=create", "node/node-1", "--timeout=60s")
        kubectl("create", "configmap", "site", "--from-literal=text=hello")

        kubectl("apply", "-f", "-", stdin=deployment(port, "red"))
        kubectl("rollout", "status", "deployment/web", "--timeout=60s")
        with forwarded(cluster, "deployment/web", port) as url:
            text, color, pod = read(url).split()
        assert (text, color) == ("hello", "red")
        kubectl("expose", "deployment/web", f"--port={port}")
        slices = ("get", "endpointslices", "-l", "kubernetes.io/service-name=web")
        kubectl.prints("true", *slices, "-o", "jsonpath={.items[*].endpoints[*].conditions.ready}")
        proxied = f"/api/v1/namespaces/default/services/web:{port}/proxy/"
        assert kubectl("get", "--raw", proxied).startswith("hello red")
        printed = kubectl("get", "pods", "-l", "app=web", "-o", "wide")
        assert printed.count("1/1") == 3
        assert len(containers_of(cluster.process)) == 3

        kubectl("patch", "configmap", "site", "-p", '{"data":{"text":"servus"}}')
        show = ("exec", pod, "--", "cat", "etc/site/text")
        kubectl.prints("servus", *show)

        kubectl("apply", "-f", "-", stdin=deployment(port, "blue"))
        kubectl("rollout", "status", "deployment/web", "--timeout=60s")
        pods_of(kubectl, 3)
        with forwarded(cluster, "deployment/web", port) as url:
            assert read(url).split()[:2] == ["servus", "blue"]

        kubectl("scale", "deployment/web", "--replicas=1")
        kubectl("rollout", "status", "deployment/web", "--timeout=60s")
        (left,) = pods_of(kubectl, 1)
        assert "listening" in kubectl("logs", left)
        processes = containers_of(cluster.process)

        cluster.process.send_signal(signal.SIGINT)
        assert cluster.process.wait(timeout=60) == 0

    assert processes
    for pid in processes:
        asyncio.run(wait_gone(pid))


def test_a_job_runs_its_programs(tmp_path: Path) -> None:
    with running_server(tmp_path, "--runtime", "process", command="up") as cluster:
        kubectl = kubectl_of(cluster)
        kubectl("create", "job", "sum", "--image=none", "--", "sh", "-c", "echo $((40 + 2))")

        kubectl("wait", "--for=condition=Complete", "job/sum", "--timeout=60s")

        assert kubectl("logs", "job/sum") == "42\n"
        described = kubectl("describe", "pod", "-l", "job-name=sum")
        assert "Exit Code:    0" in described
        assert "Completed" in described
