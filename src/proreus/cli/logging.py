"""Where a command's log goes: to stderr, a line per event, as JSON unless somebody is watching.

Only commands call this; a program that uses the library keeps its own set-up.
"""

from __future__ import annotations

import logging
import sys
from types import ModuleType
from typing import cast

# structlog takes in rich where it is installed, for tracebacks in colour: 0.1 s and 10 MB that a
# server whose log is a file would carry for nothing.
_without_rich = "rich" not in sys.modules and not sys.stderr.isatty()
if _without_rich:
    sys.modules["rich"] = cast(ModuleType, None)
import structlog  # noqa: E402

if _without_rich:
    del sys.modules["rich"]


def log_to_stderr(level: int = logging.INFO) -> None:
    is_watched = sys.stderr.isatty()
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if is_watched else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            structlog.processors.ExceptionRenderer(),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
