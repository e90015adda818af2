"""One server for all compatibility tests of a worker; a namespace of its own for each test."""

from __future__ import annotations

import itertools
import shutil
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.running_server import RunningServer, running_server

_numbers = itertools.count(1)
USERS = """\
admin-token,admin,admin-uid,"system:masters"
alice-token,alice,alice-uid
bob-token,bob,bob-uid,"dev"
carol-token,carol,carol-uid,"system:authenticated"
n1-token,system:node:n1,n1-uid,"system:nodes"
"""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """It enforces roles, as the one did that most answers were recorded from."""
    without = ("--disable-admission-plugins", "ServiceAccount")
    with _enforcing(tmp_path_factory.mktemp("server"), "RBAC", *without) as started:
        yield started


@pytest.fixture(scope="session")
def server_of_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """As the one that the answers to several users were recorded from."""
    with _enforcing(tmp_path_factory.mktemp("server"), "Node,RBAC") as started:
        yield started


@contextmanager
def _enforcing(folder: Path, modes: str, *more: str) -> Iterator[RunningServer]:
    tokens = folder / "tokens.csv"
    tokens.write_text(USERS)
    flags = ("--authorization-mode", modes, "--tokens-file", str(tokens), *more)
    with running_server(folder, *flags) as started:
        yield started


@pytest.fixture
def run_kubectl(server: RunningServer) -> Callable[..., str]:
    """Run kubectl against the server; returns stdout, fails the test on an exit code."""
    if not shutil.which("kubectl"):
        pytest.skip("kubectl is not installed (Debian: kubernetes-client)")

    def run(*arguments: str, stdin: str | None = None, env: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            ["kubectl", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env=server.environment | (env or {}),
            timeout=60,
        )
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}{done.stdout}"
        return done.stdout

    return run


@pytest.fixture
def namespace(server: RunningServer, worker_id: str) -> str:
    name = f"test-{worker_id}-{next(_numbers)}"
    with httpx.Client(
        verify=_trust(server.ca_file),
        headers={"Authorization": f"Bearer {server.token}"},
        timeout=60,
    ) as client:
        made = client.post(
            f"{server.url}/api/v1/namespaces",
            json={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
        )
    assert made.status_code == 201, made.text
    return name


def _trust(ca_file: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(ca_file))
