"""A program in a pod reaches the server by the token that its pod was given, and no further."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from proreus.server.admission.options import AdmissionOptions
from proreus.server.config import ServerConfig
from proreus.testing.server import RunningServer, running_server
from tests.cluster.process_runtime.conftest import Stage

PROGRAM = """
import asyncio
from proreus.client import Client
from proreus.api.status import Forbidden

async def main():
    async with Client.in_cluster() as client:
        print("namespace", client.config.namespace)
        pods = await client.core_v1.pods(client.config.namespace).list()
        print("pods", *(pod.name for pod in pods))
        try:
            await client.core_v1.secrets("default").list()
        except Forbidden as refused:
            print(refused.message)

asyncio.run(main())
"""


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[RunningServer]:
    """One that gives every pod a token, and lets nobody do what no role allows."""
    config = ServerConfig(
        data_dir=tmp_path,
        tls=True,
        kubeconfig=tmp_path / "kubeconfig",
        admission=AdmissionOptions(),
        authorization_mode=("Node", "RBAC"),
    )
    async with running_server(config) as running:
        yield running


async def test_a_program_in_a_pod_has_the_rights_of_its_account(stage: Stage) -> None:
    files = stage.server.api.credentials.tls
    assert files is not None
    authority = {"ca.crt": files.authority.certificate.read_text()}
    await stage.config_map("kube-root-ca.crt", **authority)
    accounts, roles = stage.client.core_v1.serviceaccounts, stage.client.resource("roles")
    await accounts("default").create({"metadata": {"name": "default"}})
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    await roles("default").create({"metadata": {"name": "reader"}, "rules": [rule]})
    bindings = stage.client.resource("rolebindings")
    await bindings("default").create(
        {
            "metadata": {"name": "reader"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader",
            },
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}],
        }
    )  # fmt: skip

    pod = await stage.run(
        "inside", {"command": [sys.executable, "-c", PROGRAM]}, restartPolicy="Never"
    )
    await stage.until("inside", lambda found: found.status.phase in ("Succeeded", "Failed"))

    lines = (await stage.logs("inside")).splitlines()
    assert pod.spec.serviceAccountName == "default"
    assert lines == [
        "namespace default",
        "pods inside",
        'secrets is forbidden: User "system:serviceaccount:default:default" cannot list resource '
        '"secrets" in API group "" in the namespace "default"',
    ]
