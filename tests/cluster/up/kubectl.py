"""kubectl, pointed at a running cluster."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from tests.running_server import RunningServer

Kubectl = Callable[..., str]
_PATIENCE_S = 120  # more than any --timeout that tests give


def kubectl_of(cluster: RunningServer) -> Kubectl:
    def run(*arguments: str) -> str:
        done = subprocess.run(
            ["kubectl", *arguments],
            capture_output=True,
            text=True,
            env=cluster.environment,
            timeout=_PATIENCE_S,
        )
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}{done.stdout}"
        return done.stdout

    return run
