"""kubectl, pointed at a running cluster."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from proreus.net.tls.certificate_authority import CertificateAuthority
from proreus.server.credentials import Login, tls_folder, write_kubeconfig
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
            time.sleep(0.1)  # a kubectl costs the cluster more time than that
        return said

    def prints(self, text: str, *arguments: str) -> str:
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


def kubectl_as(admin: Kubectl, user: str, *groups: str, namespace: str = "default") -> Kubectl:
    """Another user's, with a certificate that lasts an hour."""
    folder = admin.kubeconfig.parent
    authority = CertificateAuthority.of(tls_folder(folder))
    pair = authority.issue_client(user, groups, lasts_s=3600, now=time.time())
    server = admin("config", "view", "-o", "jsonpath={.clusters[0].cluster.server}")
    own = Kubectl(folder / f"{user}.kubeconfig".replace(":", "-"))
    write_kubeconfig(own.kubeconfig, server, authority.certificate, Login(user, certificate=pair))
    own("config", "set-context", "--current", f"--namespace={namespace}")
    return own


def kubectl_of(cluster: RunningServer) -> Kubectl:
    return Kubectl(cluster.kubeconfig)
