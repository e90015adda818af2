"""Several people on one server: the commands of docs/security.md, run as they are written there."""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.cli.main import main
from proreus.client import Client, load_config
from proreus.cluster.controllers import CONTROLLERS, run_controllers
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from tests.documentation.blocks import blocks_of
from tests.kubectl import needs_kubectl

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
AGGREGATION = "clusterrole-aggregation"


class Shell:
    """Runs the page's commands in a folder; ``environment`` is that of kubectl."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.environment = {**os.environ, "HOME": str(folder)}

    async def run(self, command: str) -> str:
        words = shlex.split(command, comments=True)
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            self.environment[name] = value
            return ""
        if words[0] == "proreus":
            return CliRunner().invoke(main, words[1:]).output
        process = await asyncio.create_subprocess_exec(
            *words,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=self._folder,
            env=self.environment,
        )
        said, _ = await process.communicate()
        return said.decode()


@needs_kubectl
async def test_teams_do_what_they_like_in_their_namespace_and_nothing_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text().partition("## Running it for several people")[2].partition("\n## ")[0]
    lines = [line for block in blocks_of("", page) for line in block.text.split("\n") if line]
    first = lines.index("export KUBECONFIG=data/kubeconfig")
    data = tmp_path / "data"
    config = ServerConfig(
        data_dir=data,
        tls=True,
        kubeconfig=data / "kubeconfig",
        authorization_mode=("Node", "RBAC"),
    )
    shell = Shell(tmp_path)
    async with (
        ApiServer(config),
        Client(load_config(data / "kubeconfig")) as client,
        background(
            run_controllers(
                client, SystemClock(), controllers={AGGREGATION: CONTROLLERS[AGGREGATION]}
            )
        ),
    ):
        answers = [await shell.run(line) for line in lines[first:]]
        roles = client.resource("clusterroles.rbac.authorization.k8s.io")
        await roles.wait_for("edit", lambda role: bool(role and role.to_dict().get("rules")))
        own = await shell.run("kubectl create configmap c --from-literal a=b -n shop")
        other = await shell.run("kubectl get secrets -n bank")

    created = [each for each in answers if "created" in each]
    assert len(created) == 4, answers
    assert answers[-1].startswith("no"), answers
    assert own == "configmap/c created\n"
    assert 'User "ann" cannot list resource "secrets"' in other
