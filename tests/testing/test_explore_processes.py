"""``proreus explore``: programs in processes of their own, of any language."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_PROGRAM = """
import sys
from proreus.blocking import Client

with Client.from_env() as client:
    maps, secrets = client.core_v1.configmaps("default"), client.core_v1.secrets("default")
    with maps.watch() as events:
        for event in events:
            found = event.object
            if event.type == "DELETED" or not found.labels.get("copy") or found.labels.get("done"):
                continue
            done = {"metadata": {"labels": {"done": "yes"}}}
            if "early" in sys.argv:
                maps.patch(found.name, done)
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": found.name}}
            secrets.apply(secret, force=True)
            if "early" not in sys.argv:
                maps.patch(found.name, done)
"""
_WORKLOAD = """
from proreus.blocking import Client

with Client.from_env() as client:
    metadata = {"name": "a", "labels": {"copy": "yes"}}
    client.core_v1.configmaps("default").create({"metadata": metadata})
"""
_PLAN = "crash after patch configmaps default/a"


def explored(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(_PROGRAM)
    (folder / "workload.py").write_text(_WORKLOAD)
    program = f"{sys.executable} {folder / 'program.py'} {' '.join(arguments)}"
    command = [sys.executable, "-m", "proreus.cli.main", "explore", "--program", program]
    command += ["--plan", _PLAN, "--quiet", "4s", "--", sys.executable, str(folder / "workload.py")]
    return subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)


def test_a_program_that_says_too_early_that_it_is_done_is_found(tmp_path: Path) -> None:
    ended = explored(tmp_path, "early")

    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "- Secret default/a is missing" in ended.stdout
    assert f"--plan '{_PLAN}'" in ended.stdout


def test_a_program_that_begins_again_where_it_was_is_right(tmp_path: Path) -> None:
    ended = explored(tmp_path)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "1 of" in ended.stdout
    assert "none of them made a difference" in ended.stdout
