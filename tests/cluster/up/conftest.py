"""A cluster of two nodes per module, as a user starts it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.up.kubectl import Kubectl, kubectl_of
from tests.cluster.up.least_rights import cluster_of_least_rights


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    with cluster_of_least_rights(tmp_path_factory.mktemp("up"), "--nodes", "2") as cluster:
        run = kubectl_of(cluster)
        for node in ("node/node-1", "node/node-2"):
            run("wait", "--for=create", node, "--timeout=60s")
        # A new node is tainted until its controller has seen it ready.
        run.until(lambda said: not said, "get", "nodes", "-o", "jsonpath={.items[*].spec.taints}")
        yield run
