"""A kube-apiserver on an etcd of its own, for the questions that are asked of our server.

All that is not said in ``flags`` has its default. The admission plugin ServiceAccount is off, as it
is for our server: nobody makes accounts.
"""

from __future__ import annotations

import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from benchmarks.api_server._server import ServerProcess
from tests.ports import reserved_ports

_TOKEN = "benchmark-token"
_READY_WITHIN_S = 120.0


@contextmanager
def running_kube_apiserver(binary: Path, etcd_url: str) -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory() as name, reserved_ports(1) as (port,):
        folder = Path(name)
        _write_files(folder)
        began = time.monotonic()
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [str(binary), *flags(folder, etcd_url, port)], stdout=log, stderr=log
            )
        try:
            _wait_ready(process, port, folder / "log")
            yield ServerProcess(process.pid, port, _TOKEN, time.monotonic() - began)
        finally:
            process.terminate()
            process.wait(60)


def flags(folder: Path, etcd_url: str, port: int) -> list[str]:
    return [
        f"--etcd-servers={etcd_url}",
        "--bind-address=127.0.0.1",
        # A loopback address must not be published; nobody connects to this one.
        "--advertise-address=192.0.2.1",
        f"--secure-port={port}",
        f"--cert-dir={folder / 'certificates'}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=Node,RBAC",
        "--disable-admission-plugins=ServiceAccount",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={folder / 'accounts.pub'}",
        f"--service-account-signing-key-file={folder / 'accounts.key'}",
        "--service-cluster-ip-range=10.0.0.0/16",
    ]


def _write_files(folder: Path) -> None:
    (folder / "tokens.csv").write_text(f'{_TOKEN},admin,admin-uid,"system:masters"\n')
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = serialization.Encoding.PEM
    (folder / "accounts.key").write_bytes(
        key.private_bytes(
            pem, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )
    (folder / "accounts.pub").write_bytes(
        key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    )


def _wait_ready(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Until pods can be created: the server is ready and has made the namespace for them."""
    give_up_at = time.monotonic() + _READY_WITHIN_S
    while not (_is_there(port, "/readyz") and _is_there(port, "/api/v1/namespaces/default")):
        if process.poll() is not None:
            raise RuntimeError(f"kube-apiserver ended: {log.read_text()[-2_000:]}")
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"kube-apiserver was not ready within {_READY_WITHIN_S} s")
        time.sleep(0.02)


def _is_there(port: int, path: str) -> bool:
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    request = urllib.request.Request(
        f"https://127.0.0.1:{port}{path}", headers={"Authorization": f"Bearer {_TOKEN}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=5, context=unverified):
            return True
    except urllib.error.HTTPError as refused:
        refused.close()
        return False
    except OSError:
        return False
