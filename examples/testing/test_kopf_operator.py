"""A kopf operator, tested as a process: it gets a kubeconfig, and is ended with the test."""

from __future__ import annotations

import sys
from pathlib import Path

from proreus.blocking import Client
from proreus.testing import BlockingServer

OPERATOR = Path(__file__).with_name("kopf_operator.py")
KOPF = (sys.executable, "-m", "kopf", "run", "--standalone", "-A", str(OPERATOR))
STAMPED = r"jsonpath={.metadata.annotations.example\.com/stamped}=yes"


def test_a_labelled_config_map_is_stamped(
    proreus_kubeconfig: Path,
    proreus_blocking_server: BlockingServer,
    proreus_blocking_client: Client,
) -> None:
    maps = proreus_blocking_client.core_v1.configmaps("default")
    with proreus_blocking_server.program(*KOPF):
        maps.create({"metadata": {"name": "a", "labels": {"stamp": "yes"}}})
        maps.create({"metadata": {"name": "b"}})
        maps.wait_for("a", STAMPED, timeout_s=60)

    assert "example.com/stamped" not in (maps.get("b")["metadata"].get("annotations") or {})
    proreus_blocking_server.requests.by("kopf").of("patch", "configmaps", "a").happened()
