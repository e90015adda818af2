"""kubectl approves and denies requests for certificates, and logs in with what was issued."""

from __future__ import annotations

import base64
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.running_server import RunningServer, running_server
from tests.signing import private_key, request_pem, signing_request

Kubectl = Callable[..., str]
SIGNER = "kubernetes.io/kube-apiserver-client"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("up")
    with running_server(folder, "--without", "scheduler,kubelet", command="up") as started:
        yield started


@pytest.fixture
def kubectl(cluster: RunningServer) -> Kubectl:
    def run(*arguments: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            ["kubectl", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env=cluster.environment,
            timeout=60,
        )
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}{done.stdout}"
        return done.stdout

    return run


def condition(kubectl: Kubectl, name: str) -> str:
    """The last column of ``kubectl get csr``."""
    return kubectl("get", "csr", name, "--no-headers").split()[-1]


def wait_issued(kubectl: Kubectl, name: str) -> None:
    """kubectl itself waits for certificates in its newest versions only."""
    ends = time.monotonic() + 60
    while (found := condition(kubectl, name)) != "Approved,Issued":
        assert time.monotonic() < ends, found


def test_an_approved_request_becomes_a_login(
    kubectl: Kubectl, cluster: RunningServer, tmp_path: Path
) -> None:
    body = signing_request("ann", request_pem("ann", ["dev"]), SIGNER, expirationSeconds=3600)
    kubectl("create", "-f", "-", stdin=json.dumps(body))
    before = condition(kubectl, "ann")

    approved = kubectl("certificate", "approve", "ann")
    wait_issued(kubectl, "ann")

    assert before == "Pending"
    assert approved == "certificatesigningrequest.certificates.k8s.io/ann approved\n"
    certificate, key, empty = (tmp_path / name for name in ("crt", "key", "none"))
    issued = kubectl("get", "csr", "ann", "-o", "jsonpath={.status.certificate}")
    certificate.write_bytes(base64.b64decode(issued))
    key.write_bytes(private_key())
    empty.touch()
    printed = kubectl(
        "auth", "whoami", "-o", "json", "--kubeconfig", str(empty), "--server", cluster.url,
        "--certificate-authority", str(cluster.ca_file),
        "--client-certificate", str(certificate), "--client-key", str(key),
    )  # fmt: skip
    user = json.loads(printed)["status"]["userInfo"]
    assert (user["username"], user["groups"]) == ("ann", ["dev", "system:authenticated"])


def test_a_denied_request_is_never_issued(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=json.dumps(signing_request("d", request_pem("d"), SIGNER)))
    kubectl("create", "-f", "-", stdin=json.dumps(signing_request("e", request_pem("e"), SIGNER)))

    denied = kubectl("certificate", "deny", "d")
    kubectl("certificate", "approve", "e")
    wait_issued(kubectl, "e")  # so that the one before has been looked at

    assert denied == "certificatesigningrequest.certificates.k8s.io/d denied\n"
    assert condition(kubectl, "d") == "Denied"
