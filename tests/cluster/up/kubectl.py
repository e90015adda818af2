"""kubectl, pointed at a running cluster."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.running_server import RunningServer

# More than any --timeout that tests give, and less than a test may take.
_PATIENCE_S = 90


@dataclass(frozen=True, slots=True)
class Kubectl:
    """``kubectl("get", "pods")`` is what it prints. Its caches are beside the kubeconfig."""

    kubeconfig: Path

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        done = self._run(arguments, stdin)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}{done.stdout}"
        return done.stdout

    def refused(self, *arguments: str) -> str:
        """What it complains about."""
        done = self._run(arguments)
        assert done.returncode != 0, f"kubectl {' '.join(arguments)}: {done.stdout}"
        return done.stderr

    def until(self, holds: Callable[[str], object], *arguments: str) -> str:
        """What it prints once that holds, asked again and again: for what ``kubectl wait`` cannot
        wait for."""
        give_up = time.monotonic() + _PATIENCE_S
        while not holds(said := self(*arguments)):
            waited = f"kubectl {' '.join(arguments)} still says: {said}"
            assert time.monotonic() < give_up, waited
        return said

    def tells(self, text: str, *arguments: str) -> str:
        """What it prints once the text is in it: events are written when there is time."""
        return self.until(lambda said: text in said, *arguments)

    def _run(self, arguments: tuple[str, ...], stdin: str = "") -> subprocess.CompletedProcess[str]:
        home = str(self.kubeconfig.parent)
        return subprocess.run(
            ["kubectl", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": home},
            timeout=_PATIENCE_S,
        )


def kubectl_of(cluster: RunningServer) -> Kubectl:
    return Kubectl(cluster.kubeconfig)
