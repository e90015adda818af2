"""What a process logs, logged by its owner: one process writes the log file and the terminal."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from contextlib import suppress

import structlog

LINE_MAX = 1024 * 1024
_log = structlog.get_logger("proreus.process")
_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}
_OWN = ("timestamp", "level", "event", "logger")  # the owner's log has its own


async def relay(lines: asyncio.StreamReader, known_as: Mapping[str, object]) -> None:
    """Until the process has closed its stderr."""
    while True:
        try:
            line = await lines.readline()
        except ValueError:  # longer than LINE_MAX, and dropped
            line = b"a line of the log was too long\n"
        if not line:
            return
        if text := line.decode(errors="replace").rstrip():
            log(text, known_as)


def log(text: str, known_as: Mapping[str, object]) -> None:
    """One line: JSON, or what the interpreter says of its own end."""
    found: object = None
    with suppress(ValueError):
        found = json.loads(text)
    if not isinstance(found, dict):
        _log.error("a process said", **known_as, text=text)
        return
    fields = {str(name): value for name, value in found.items() if name not in _OWN}
    level = _LEVELS.get(str(found.get("level")), logging.ERROR)
    _log.log(level, str(found.get("event", "")), **{**fields, **known_as})
