"""What a command says when its server cannot run: one line, not a traceback."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

import click

from proreus.server.config import ServerConfig
from proreus.server.storage.interface import StorageError


@contextmanager
def told_in_one_line(config: ServerConfig) -> Iterator[None]:
    """Failures of the machine or the storage; what is our own fault keeps its traceback."""
    try:
        yield
    except Exception as failure:
        cause = _only(failure)
        if not isinstance(cause, StorageError | OSError):
            raise
        raise click.ClickException(_text(cause, config)) from failure


def _only(failure: Exception) -> Exception:
    """Parts run in groups, and a group wraps even a single failure."""
    while isinstance(failure, ExceptionGroup) and len(failure.exceptions) == 1:
        failure = failure.exceptions[0]
    return failure


def _text(cause: StorageError | OSError, config: ServerConfig) -> str:
    if isinstance(cause, OSError) and cause.errno == errno.EADDRINUSE:
        place = f"{config.bind_address}:{config.port}"
        return f"{place} is in use by another program; --port 0 takes a free one"
    return str(cause)
