"""What a command writes to stderr."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

PROGRAM = """
import logging
import structlog
from proreus.cli.logging import start_logging

start_logging()
structlog.get_logger("proreus.server").info("from structlog", size=1)
library = logging.getLogger("proreus.server.watch_cache.ingest")
library.info("the stream was lost, resuming in %.2f s", 0.5)
library.debug("too fine")
logging.getLogger("proreus.client.informer.informer").info("synced")
logging.getLogger("elsewhere").info("of no interest")
logging.getLogger("elsewhere").warning("of interest")
try:
    raise ValueError("a bug")
except ValueError:
    library.exception("it failed")
"""


def test_all_logs_come_out_as_lines_of_one_form() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60
    )

    lines: list[dict[str, Any]] = [json.loads(line) for line in done.stderr.splitlines()]
    assert [(line["level"], line["event"]) for line in lines] == [
        ("info", "from structlog"),
        ("info", "the stream was lost, resuming in 0.50 s"),
        ("warning", "of interest"),
        ("error", "it failed"),
    ]
    assert all("timestamp" in line for line in lines)
    assert lines[1]["logger"] == "proreus.server.watch_cache.ingest"
    assert "ValueError: a bug" in lines[3]["exception"]


COMMANDS = """
import importlib, sys
for command in ("server", "up", "controllers", "scheduler", "kubelet"):
    importlib.import_module(f"proreus.cli.commands.{command}")
    print(command, "rich" in sys.modules)
"""


def test_a_command_whose_log_is_a_file_does_not_load_rich() -> None:
    """It would cost a tenth of a second at the start and 10 MB for as long as the command runs."""
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS], capture_output=True, text=True, check=True
    )

    commands = ("server", "up", "controllers", "scheduler", "kubelet")
    assert done.stdout == "".join(f"{command} False\n" for command in commands)
