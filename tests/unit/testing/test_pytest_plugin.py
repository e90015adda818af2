"""The plugin as users have it: pytest in a process of its own, with each runner of async tests."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.testing.pytest_process import run_pytest

ROOT = Path(__file__).parents[3]
_PLUGIN = "proreus.testing.pytest_plugin"
_DEADLINE_S = 120  # of a run that hangs


_PLAIN = """
import pytest

@pytest.mark.parametrize("number", range(3))
def test_each_begins_with_nothing(proreus_blocking_client, number):
    maps = proreus_blocking_client.core_v1.configmaps("default")
    assert "mine" not in [found.name for found in maps.list()]
    maps.create({"metadata": {"name": "mine"}})

def test_faults(proreus_blocking_server, proreus_blocking_client):
    from proreus.client import Conflict
    maps = proreus_blocking_client.core_v1.configmaps("default")
    maps.create({"metadata": {"name": "a"}})
    with proreus_blocking_server.fail("patch", "configmaps", Conflict, times=1):
        with pytest.raises(Conflict):
            maps.patch("a", {"data": {"k": "v"}})
    proreus_blocking_server.requests.of("patch", "configmaps").happened(times=1)

@pytest.mark.proreus(clock="virtual", controllers=["deployment", "replicaset"], nodes=2)
def test_a_cluster_on_a_virtual_clock(proreus_blocking_cluster, proreus_blocking_client):
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "b"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": pod}
    deployments = proreus_blocking_client.apps_v1.deployments("default")
    deployments.create({"metadata": {"name": "web"}, "spec": spec})
    proreus_blocking_cluster.settle()
    assert deployments.get("web")["status"]["readyReplicas"] == 2
    proreus_blocking_cluster.advance("1m")
"""


def test_plain_tests_share_a_server_and_see_nothing_of_each_other(tmp_path: Path) -> None:
    (tmp_path / "test_plain.py").write_text(_PLAIN)

    assert "5 passed" in run_pytest(tmp_path, without=("asyncio", "anyio"))


def test_parallel_processes_have_a_server_each(tmp_path: Path) -> None:
    (tmp_path / "test_plain.py").write_text(_PLAIN)

    assert "5 passed" in run_pytest(tmp_path, "-n", "2")


_ASYNC = """
import pytest

{mark}
@pytest.mark.parametrize("number", range(3))
async def test_each_begins_with_nothing(proreus_client, number):
    maps = proreus_client.core_v1.configmaps("default")
    assert "mine" not in [found.name for found in await maps.list()]
    await maps.create({{"metadata": {{"name": "mine"}}}})

{mark}
async def test_an_operator_is_done_when_it_has_settled(proreus_server, proreus_client):
    from proreus.client.operator import Operator
    operator = Operator("labeller")

    @operator.reconciler("configmaps")
    async def reconcile(found):
        if found.object is not None and found.name == "a":
            maps = found.client.core_v1.configmaps(found.namespace)
            await maps.patch("a", {{"data": {{"seen": "yes"}}}})

    maps = proreus_client.core_v1.configmaps("default")
    async with proreus_server.running(operator):
        await maps.create({{"metadata": {{"name": "a"}}}})
        await proreus_server.settle()
        assert (await maps.get("a"))["data"]["seen"] == "yes"
    proreus_server.requests.by("labeller").of("patch", "configmaps", "a").happened()

{mark}
async def test_rights(proreus_server):
    from proreus.client import Forbidden
    async with proreus_server.client_as("ann", allow={{"configmaps": ["list"]}}) as ann:
        await ann.core_v1.configmaps("default").list()
        with pytest.raises(Forbidden):
            await ann.core_v1.secrets("default").list()
"""
_RUNNERS = {
    "asyncio auto": ("", ["-o", "asyncio_mode=auto"], ("anyio",)),
    "asyncio strict": ("@pytest.mark.asyncio", ["-o", "asyncio_mode=strict"], ("anyio",)),
    "anyio": ("@pytest.mark.anyio", [], ("asyncio",)),
}


@pytest.mark.parametrize("runner", _RUNNERS)
def test_async_tests_of_each_runner_share_a_server(tmp_path: Path, runner: str) -> None:
    mark, options, without = _RUNNERS[runner]
    (tmp_path / "test_async.py").write_text(_ASYNC.format(mark=mark))
    if runner == "anyio":
        (tmp_path / "conftest.py").write_text(
            "import pytest\n\n@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n"
        )

    assert "5 passed" in run_pytest(tmp_path, *options, without=without)


def test_manifests_and_session_fixtures_are_there_in_every_test(tmp_path: Path) -> None:
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "maps.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: default}\n"
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: two, namespace: default}\n"
    )
    (tmp_path / "conftest.py").write_text("""
import pytest

BODY = {"apiVersion": "v1", "kind": "ConfigMap"}

@pytest.fixture(scope="session")
def proreus_session_manifests():
    return [{**BODY, "metadata": {"name": "three", "namespace": "default"}}]

@pytest.fixture(scope="session", autouse=True)
def four(proreus_session_server):
    proreus_session_server.load({**BODY, "metadata": {"name": "four", "namespace": "default"}})
""")
    (tmp_path / "test_them.py").write_text("""
import pytest

@pytest.mark.parametrize("number", range(2))
def test_all_are_there(proreus_blocking_client, number):
    maps = proreus_blocking_client.core_v1.configmaps("default")
    assert {"one", "two", "three", "four"} <= {found.name for found in maps.list()}
    maps.delete("one")

@pytest.mark.proreus(clock="virtual")
def test_on_another_clock_too(proreus_blocking_client):
    maps = proreus_blocking_client.core_v1.configmaps("default")
    assert {"one", "two", "three"} <= {found.name for found in maps.list()}
""")
    ini = ["-o", f"proreus_manifests={tmp_path / 'manifests'}"]

    assert "3 passed" in run_pytest(tmp_path, *ini)


def test_other_clients_get_a_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "test_official.py").write_text("""
import os
from kubernetes import client, config

def test_official(proreus_kubeconfig, proreus_blocking_client):
    assert os.environ["KUBECONFIG"] == str(proreus_kubeconfig)
    config.load_kube_config(str(proreus_kubeconfig))
    api = client.CoreV1Api()
    api.create_namespaced_config_map("default", {"metadata": {"name": "a"}})
    maps = proreus_blocking_client.core_v1.configmaps("default")
    assert maps.get("a").name == "a"
""")

    assert "1 passed" in run_pytest(tmp_path)


def test_the_plugin_costs_nothing_where_it_is_not_used() -> None:
    """Nothing of the server or the client is loaded with it."""
    script = f"""
import sys, {_PLUGIN}
loaded = [name for name in sys.modules if name.startswith("proreus.")]
assert loaded == ["proreus.testing", "{_PLUGIN}"], loaded
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=_DEADLINE_S)


def test_pytest_finds_the_plugin_by_its_entry_point() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())

    assert declared["project"]["entry-points"]["pytest11"] == {"proreus": _PLUGIN}


def test_unittest_has_it_too(tmp_path: Path) -> None:
    (tmp_path / "test_unit.py").write_text("""
import unittest
from proreus.testing import blocking_server

class Maps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(blocking_server())

    def setUp(self):
        self.enterContext(self.server.fork())
        self.client = self.enterContext(self.server.blocking_client())

    def test_one(self):
        self.client.core_v1.configmaps("default").create({"metadata": {"name": "a"}})

    def test_two(self):
        self.client.core_v1.configmaps("default").create({"metadata": {"name": "a"}})
""")
    done = subprocess.run(
        [sys.executable, "-m", "unittest", "test_unit"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "Ran 2 tests" in done.stderr
