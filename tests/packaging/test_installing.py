"""What is built installs and runs without the checkout, on its runtime dependencies alone."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proreus.client import Client, load_config

ROOT = Path(__file__).parents[2]
_SIZE_MAX = 100_000_000
_PIN = re.compile(r"^[\w.-]+==\S+", re.MULTILINE)


async def test_what_is_built_runs_a_cluster_without_the_checkout(tmp_path: Path) -> None:
    """One test, as both steps take long and no two workers should take them."""
    sdist, wheel = _build(tmp_path)
    assert {"pyproject.toml", "hatch_build.py", "hatch_kinds.py", "LICENSE"} <= _names(sdist)
    installed = _install(wheel, tmp_path)
    assert _size(installed) < _SIZE_MAX
    assert "pip install 'proreus[etcd]'" in _refused(installed, "--etcd", "http://127.0.0.1:1")
    (tmp_path / "keys.yaml").write_text(_SECRETBOX)
    said = _refused(installed, "--encryption-provider-config", str(tmp_path / "keys.yaml"))
    assert "pip install 'proreus[encryption]'" in said
    (tmp_path / "issuers.yaml").write_text(_EXPRESSION)
    said = _refused(installed, "--authentication-config", str(tmp_path / "issuers.yaml"))
    assert "pip install 'proreus[cel]'" in said

    with _up(installed, tmp_path) as kubeconfig:
        async with Client(load_config(kubeconfig)) as client:
            await client.core_v1.nodes.wait_for("node-1", "condition=Ready", timeout_s=60)
            pods = client.core_v1.pods("default")
            await pods.create(_POD)
            pod = await pods.wait_for("web", "condition=Ready", timeout_s=60)

    assert pod.status.phase == "Running"


def _build(folder: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel that was built of the sdist."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist")]
    done = subprocess.run([*command, str(ROOT)], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    (sdist,), (wheel,) = (folder / "dist").glob("*.tar.gz"), (folder / "dist").glob("*.whl")
    return sdist, wheel


def _names(sdist: Path) -> set[str]:
    with tarfile.open(sdist) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def _install(wheel: Path, folder: Path) -> Path:
    """A virtual environment with the wheel and what it asks for, in the versions of the pins."""
    pins = folder / "pins.txt"
    pins.write_text("\n".join(_PIN.findall((ROOT / "constraints-runtime.txt").read_text())))
    installed = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", installed], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(installed / "bin" / "python")]
    command = [*pip, "install", "--quiet", "--constraint", str(pins), str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return installed


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _refused(installed: Path, *flags: str) -> str:
    done = subprocess.run(
        [installed / "bin" / "proreus", "server", "--port", "0", *flags],
        cwd=installed.parent, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


_SECRETBOX = """\
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - {secretbox: {keys: [{name: a, secret: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=}]}}
"""
_EXPRESSION = """\
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer: {url: "https://issuer.example", audiences: [a]}
  claimMappings: {username: {expression: claims.sub}}
"""
_POD = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}


@contextmanager
def _up(installed: Path, folder: Path) -> Iterator[Path]:
    """As in a new shell, in a folder of one's own."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    process = subprocess.Popen(
        [installed / "bin" / "proreus", "up", "--port", "0"],
        cwd=folder, env=environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert "is ready at https://" in process.stdout.readline()
        yield folder / ".proreus" / "kubeconfig"
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_what_running_needs_is_pinned_as_what_is_tested() -> None:
    tested = set(_PIN.findall((ROOT / "constraints.txt").read_text()))
    runtime = set(_PIN.findall((ROOT / "constraints-runtime.txt").read_text()))

    assert runtime
    assert runtime <= tested, "run make constraints"
