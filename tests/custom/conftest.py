"""A server in the test's process, and one of its own for the programs that talk to it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator

import pytest

from tests.in_process import client, server
from tests.running_server import RunningServer, running_server

__all__ = ["client", "run_kubectl", "separate_server", "server"]


@pytest.fixture(scope="session")
def separate_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture
def run_kubectl(separate_server: RunningServer) -> Callable[..., str]:
    """Run kubectl; returns what it printed, fails the test on an exit code."""
    if not shutil.which("kubectl"):
        pytest.skip("kubectl is not installed")

    def run(*arguments: str, stdin: str | None = None, **env: str) -> str:
        done = subprocess.run(
            ["kubectl", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env=separate_server.environment | env,
            timeout=180,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
