"""Clients for users with given rights."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from proreus.api.status import Forbidden
from proreus.server.config import ServerConfig
from proreus.testing.granting import Grant, rules_of
from proreus.testing.server import running_server
from tests.kubectl import needs_kubectl

SETTINGS = {"metadata": {"name": "settings"}, "data": {"a": "b"}}


def test_rules_are_written_as_kubectl_names_resources() -> None:
    allowed = {
        "pods": ["get"],
        "pods/log": ["get"],
        "deployments.apps/scale": ["update"],
        "*.batch": ["*"],
        "/metrics": ["get"],
    }

    assert rules_of(allowed) == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
        {"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["update"]},
        {"apiGroups": ["batch"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ]


def test_paths_of_no_resource_are_granted_in_no_namespace() -> None:
    with pytest.raises(ValueError, match="in no namespace"):
        Grant({"/metrics": ["get"]}, namespace="default")


async def test_a_user_may_do_what_was_allowed_and_nothing_else() -> None:
    async with (
        running_server() as server,
        server.client() as admin,
        server.client_as("ann", allow={"configmaps": ["get"]}, namespace="default") as ann,
    ):
        await admin.core_v1.configmaps("default").create(SETTINGS)
        own, other = ann.core_v1.configmaps("default"), ann.core_v1.configmaps("kube-system")

        assert (await own.get("settings"))["data"]["a"] == "b"
        with pytest.raises(Forbidden, match='User "ann" cannot delete resource "configmaps"'):
            await own.delete("settings")
        with pytest.raises(Forbidden, match='in the namespace "kube-system"'):
            await other.get("kube-root-ca.crt")


async def test_rights_everywhere_by_a_role_that_exists_and_by_a_group() -> None:
    async with running_server() as server, server.client() as admin:
        await admin.core_v1.configmaps("default").create(SETTINGS)
        async with server.client_as("ann", role="view") as ann:
            assert (await ann.core_v1.configmaps("default").get("settings"))["data"]["a"] == "b"
            with pytest.raises(Forbidden):
                await ann.core_v1.secrets("default").list()
        async with server.client_as("eve", groups=["system:masters"]) as eve:
            await eve.core_v1.secrets("default").list()


@needs_kubectl
async def test_a_program_of_another_language_gets_a_kubeconfig(tmp_path: Path) -> None:
    config = ServerConfig(data_dir=tmp_path / "data", tls=True)
    async with running_server(config) as server:
        path = tmp_path / "ann.kubeconfig"
        await server.kubeconfig_as(path, "ann", groups=["dev"], allow={"pods": ["list"]})

        said = await asyncio.to_thread(
            subprocess.run,
            ["kubectl", "--kubeconfig", str(path), "auth", "can-i", "list", "pods", "-A"],
            capture_output=True, text=True, timeout=60, env={**os.environ, "HOME": str(tmp_path)},
        )  # fmt: skip

    assert said.stdout.strip() == "yes"
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_kubeconfig_needs_tls(tmp_path: Path) -> None:
    async with running_server() as server:
        with pytest.raises(ValueError, match="needs a server with TLS"):
            await server.kubeconfig_as(tmp_path / "ann.kubeconfig", "ann")
