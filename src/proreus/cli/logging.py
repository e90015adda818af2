"""Logging of a command: a line per event to stderr, as JSON unless stderr is a terminal, and of
commands with a data folder as JSON to ``log_file`` too.

The server logs through structlog, the library and what it depends on through ``logging``: both are
rendered by the same processors. Other packages log from level warning on. On a terminal a failure
is one line; its traceback is in the file, and with ``-v`` on the terminal.
Only commands call this; a program that uses the library keeps its own set-up.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TextIO, cast

from proreus.cli.log_file import LogFileHandler
from proreus.cli.verbosity import is_verbose, log_level

# structlog takes in rich where it is installed, for tracebacks in colour: 0.1 s and 10 MB that a
# server whose log is a file would carry for nothing.
_without_rich = "rich" not in sys.modules and not sys.stderr.isatty()
if _without_rich:
    sys.modules["rich"] = cast(ModuleType, None)
import structlog  # noqa: E402

if _without_rich:
    del sys.modules["rich"]

_Steps = list[structlog.typing.Processor]


class _Stderr:
    """stderr, whose reader may be gone (``2>&1 | head -1``): no program fails for want of one."""

    def write(self, text: str) -> int:
        with suppress(BrokenPipeError):
            return sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(BrokenPipeError):
            sys.stderr.flush()


def start_logging(data_dir: Path | None = None) -> None:
    """``data_dir``: also into its log file. Raises OSError."""
    described: _Steps = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.ExceptionRenderer(),
    ]
    structlog.configure(
        processors=[*described, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(log_level()),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handlers: list[logging.Handler] = [logging.StreamHandler(cast(TextIO, _Stderr()))]
    handlers[0].setFormatter(_formatter(described, _for_stderr()))
    if data_dir is not None:
        handlers.append(LogFileHandler(data_dir))
        handlers[1].setFormatter(_formatter(described, [structlog.processors.JSONRenderer()]))
    logging.basicConfig(handlers=handlers, level=logging.WARNING, force=True)
    logging.getLogger("proreus").setLevel(log_level())
    # A cluster has a hundred informers: that they have synced is news to the library's users only.
    if log_level() == logging.INFO:
        logging.getLogger("proreus.client.informer").setLevel(logging.WARNING)


def _formatter(described: _Steps, rendering: _Steps) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
        foreign_pre_chain=described,
    )


def _for_stderr() -> _Steps:
    if not sys.stderr.isatty():
        return [structlog.processors.JSONRenderer()]
    return [*(() if is_verbose() else (_last_line,)), structlog.dev.ConsoleRenderer()]


def _last_line(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    if traceback := event.pop("exception", ""):
        event["error"] = str(traceback).rstrip().rpartition("\n")[2].strip()
    return event
