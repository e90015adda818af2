"""kopf operators in processes of their own, and waiting for what they do.

Patience is long: beside other tests on few cores an operator may take half a minute to start.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from tests.running_server import RunningServer

Kubectl = Callable[..., str]
PATIENCE_S = 100
PATIENCE = f"--timeout={PATIENCE_S}s"


@contextmanager
def operator(server: RunningServer, folder: Path, code: str, *flags: str) -> Iterator[None]:
    """Runs until the block ends. Only one that did all it should is asked to end well."""
    number = len(list(folder.iterdir()))
    file, log = folder / f"operator{number}.py", folder / f"operator{number}.log"
    file.write_text("import kopf\n" + textwrap.dedent(code))
    command = [sys.executable, "-W", "ignore", "-m", "kopf", "run", "-n", "default"]
    with log.open("wb") as written:
        running = subprocess.Popen(
            [*command, *(flags or ("--standalone",)), str(file)],
            env=server.environment,
            stdout=written,
            stderr=written,
        )
    try:
        yield
    except BaseException:
        running.kill()
        running.wait()
        sys.stderr.write(log.read_text())
        raise
    running.terminate()
    assert running.wait(PATIENCE_S) == 0, log.read_text()


def established(kubectl: Kubectl, body: dict[str, Any]) -> None:
    kubectl("apply", "-f", "-", stdin=orjson.dumps(body).decode())
    name = body["metadata"]["name"]
    kubectl("wait", "--for=condition=established", f"crd/{name}", PATIENCE)


def until(kubectl: Kubectl, target: str, path: str, value: str) -> None:
    kubectl("wait", target, f"--for=jsonpath={{{path}}}={value}", PATIENCE)


def eventually(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what
