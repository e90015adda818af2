"""kubectl's questions about rights are answered by roles."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.running_server import RunningServer

Kubectl = Callable[..., str]
POLICY = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: NAMESPACE}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: User, name: alice, apiGroup: rbac.authorization.k8s.io}]
"""


@pytest.fixture
def alice(server: RunningServer, namespace: str, tmp_path: Path) -> Kubectl:
    """kubectl with her token; its output, whether or not it succeeds."""
    (tmp_path / "none").touch()

    def run(*arguments: str) -> str:
        who = ("--kubeconfig", str(tmp_path / "none"), "--server", server.url)
        trust = ("--certificate-authority", str(server.ca_file), "--token", "alice-token")
        done = subprocess.run(
            ["kubectl", *who, *trust, "-n", namespace, *arguments],
            capture_output=True,
            text=True,
            env=server.environment,
            timeout=60,
        )
        return done.stdout + done.stderr

    return run


def test_rights_are_reconciled_listed_and_enforced(
    run_kubectl: Kubectl, namespace: str, alice: Kubectl
) -> None:
    before = alice("auth", "can-i", "list", "pods")

    policy = POLICY.replace("NAMESPACE", namespace)
    run_kubectl("auth", "reconcile", "-f", "-", stdin=policy)
    again = run_kubectl("auth", "reconcile", "-f", "-", stdin=policy)

    assert before.strip() == "no"
    assert "reconciled" in again
    assert "required" not in again
    assert alice("auth", "can-i", "list", "pods").strip() == "yes"
    assert alice("auth", "can-i", "delete", "pods").strip() == "no"
    listed = [line.split() for line in alice("auth", "can-i", "--list").splitlines()]
    assert ["pods", "[]", "[]", "[get", "list]"] in listed
    assert "No resources found" in alice("get", "pods")
    assert f'cannot delete resource "pods" in API group "" in the namespace "{namespace}"' in alice(
        "delete", "pod", "p"
    )


def test_one_learns_who_one_is(run_kubectl: Kubectl, alice: Kubectl) -> None:
    assert ["Username", "alice"] in [line.split() for line in alice("auth", "whoami").splitlines()]
    assert "Username    bob" in run_kubectl("auth", "whoami", "--as", "bob")
    assert "you do not have permission" in alice("auth", "whoami", "--as", "bob")
