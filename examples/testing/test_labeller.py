"""A controller of kubectl and a shell, tested as a process: it does not know that it is."""

from __future__ import annotations

from pathlib import Path

from proreus.blocking import Client
from proreus.testing import BlockingServer

LABELLER = Path(__file__).with_name("labeller.sh")


def test_a_config_map_gets_an_owner(
    proreus_kubeconfig: Path,
    proreus_blocking_server: BlockingServer,
    proreus_blocking_client: Client,
) -> None:
    maps = proreus_blocking_client.core_v1.configmaps("default")
    with proreus_blocking_server.program("sh", LABELLER):
        maps.create({"metadata": {"name": "a"}})
        maps.wait_for("a", "jsonpath={.metadata.labels.owner}=nobody", timeout_s=60)
        # It asks nothing more once every map has its label.
        proreus_blocking_server.settle(quiet_for="500ms")

    assert maps.get("a")["metadata"]["labels"] == {"owner": "nobody"}
