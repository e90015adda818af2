"""The manifest of the README's second half, as a newcomer applies it."""

from __future__ import annotations

import shutil
import urllib.request
from pathlib import Path

import pytest

from tests.cluster.up.kubectl import kubectl_of
from tests.running_server import running_server

HELLO = Path(__file__).parents[2] / "examples" / "hello.yaml"


@pytest.mark.skipif(
    not shutil.which("kubectl"), reason="kubectl is not installed (Debian: kubernetes-client)"
)
def test_hello_answers_with_its_config_map(tmp_path: Path) -> None:
    with running_server(tmp_path, "--runtime", "process", command="up") as cluster:
        kubectl = kubectl_of(cluster)
        kubectl("apply", "-f", str(HELLO))
        kubectl("rollout", "status", "deployment/hello", "--timeout=60s")
        addresses = kubectl("get", "pods", "-o", "jsonpath={.items[*].status.podIP}").split()

        answers = [
            urllib.request.urlopen(f"http://{address}:8080/", timeout=60).read()
            for address in addresses
        ]

        assert answers == [b"hello from a config map\n"] * 2
        kubectl.tells("GET /", "logs", "deployment/hello")
        assert "index.html" in kubectl("exec", "deployment/hello", "--", "ls", "srv")
