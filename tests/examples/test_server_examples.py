"""Examples that bring or watch a server, run as users run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.running_server import running_server

EXAMPLES = Path(__file__).parents[2] / "examples"
# A controller makes the accounts that pods run as; here there is none.
WITHOUT_ACCOUNTS = ("--disable-admission-plugins", "ServiceAccount")


def test_a_server_embedded_in_a_program_notifies_it_of_its_own_write() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "embedded_server.py")],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (done.returncode, done.stdout) == (0, "ADDED: the colour is blue\n"), done.stderr


def test_watching_pods_prints_each_change(tmp_path: Path) -> None:
    with running_server(tmp_path, *WITHOUT_ACCOUNTS) as server:
        environment = {**os.environ, **server.environment}
        watching = subprocess.Popen(
            [sys.executable, str(EXAMPLES / "watch_pods.py")],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert watching.stdout
        try:
            assert watching.stdout.readline().startswith("0 pods at version")
            subprocess.run(
                ["kubectl", "run", "web", "--image=nginx"],
                env=environment,
                check=True,
                capture_output=True,
            )
            assert watching.stdout.readline() == "ADDED default/web\n"
        finally:
            watching.kill()
            watching.wait()
            watching.stdout.close()


def test_the_program_in_the_readme_runs(tmp_path: Path) -> None:
    readme = (EXAMPLES.parent / "README.md").read_text()
    (_, program) = re.findall(r"```python\n(.*?)```", readme, re.S)  # the first is a test
    with running_server(tmp_path, *WITHOUT_ACCOUNTS) as server:
        subprocess.run(
            ["kubectl", "run", "web", "--image=nginx", "--labels=app=web"],
            env=server.environment,
            check=True,
            capture_output=True,
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=server.environment,
            capture_output=True,
            text=True,
            timeout=60,
        )

    assert done.returncode == 0, done.stderr
    assert set(done.stdout.splitlines()) == {"here: web", "['web']"}
