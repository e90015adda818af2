"""Logging of a command: to stderr, a line per event, as JSON unless stderr is a terminal.

The server logs through structlog, the library and what it depends on through ``logging``: both are
rendered by the same processors. Other packages log from level warning on.
Only commands call this; a program that uses the library keeps its own set-up.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from types import ModuleType
from typing import TextIO, cast

# structlog takes in rich where it is installed, for tracebacks in colour: 0.1 s and 10 MB that a
# server whose log is a file would carry for nothing.
_without_rich = "rich" not in sys.modules and not sys.stderr.isatty()
if _without_rich:
    sys.modules["rich"] = cast(ModuleType, None)
import structlog  # noqa: E402

if _without_rich:
    del sys.modules["rich"]


class _Stderr:
    """stderr, whose reader may be gone (``2>&1 | head -1``): no program fails for want of one."""

    def write(self, text: str) -> int:
        with suppress(BrokenPipeError):
            return sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(BrokenPipeError):
            sys.stderr.flush()


def log_to_stderr(level: int = logging.INFO) -> None:
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer()
        if sys.stderr.isatty()
        else structlog.processors.JSONRenderer()
    )
    described: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.ExceptionRenderer(),
    ]
    structlog.configure(
        processors=[*described, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(cast(TextIO, _Stderr())),
        cache_logger_on_first_use=True,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        foreign_pre_chain=[structlog.stdlib.add_logger_name, *described],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("proreus").setLevel(level)
    # A cluster has a hundred informers: that they have synced is news to the library's users only.
    if level == logging.INFO:
        logging.getLogger("proreus.client.informer").setLevel(logging.WARNING)
