"""The manifest of the README's second half, applied by who may edit one namespace."""

from __future__ import annotations

import urllib.request
from pathlib import Path

from tests.cluster.up.kubectl import kubectl_as, kubectl_of
from tests.cluster.up.least_rights import cluster_of_least_rights
from tests.kubectl import needs_kubectl

HELLO = Path(__file__).parents[2] / "examples" / "hello.yaml"


@needs_kubectl
def test_hello_answers_with_its_config_map(tmp_path: Path) -> None:
    with cluster_of_least_rights(tmp_path, "--runtime", "process") as cluster:
        admin = kubectl_of(cluster)
        admin("create", "namespace", "team")
        admin("create", "rolebinding", "ann", "--clusterrole=edit", "--user=ann", "-n", "team")
        admin.prints("pods", "get", "clusterrole", "edit", "-o", "yaml")
        kubectl = kubectl_as(admin, "ann", namespace="team")
        kubectl("apply", "-f", str(HELLO))
        kubectl("rollout", "status", "deployment/hello", "--timeout=60s")
        addresses = kubectl("get", "pods", "-o", "jsonpath={.items[*].status.podIP}").split()

        answers = [
            urllib.request.urlopen(f"http://{address}:8080/", timeout=60).read()
            for address in addresses
        ]

        assert answers == [b"hello from a config map\n"] * 2
        kubectl.prints("GET /", "logs", "deployment/hello")
        assert "index.html" in kubectl("exec", "deployment/hello", "--", "ls", "srv")
