"""Startup failures of a server, printed as one line instead of a traceback."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import click

from proreus.net.private_files import NotPrivate
from proreus.net.tls.key_pairs import UnusableFiles
from proreus.server.config import ConfigInvalid, ServerConfig
from proreus.server.storage.interface import StorageError

_Reported = StorageError | OSError | ConfigInvalid | UnusableFiles
# Of errors without a file: why one cannot listen at an address.
_LISTENING = {
    errno.EADDRINUSE: "in use by another program; --port 0 takes a free one",
    errno.EACCES: "not permitted to this user; ports from 1024 on are",
    errno.EPERM: "not permitted to this user; ports from 1024 on are",
    errno.EADDRNOTAVAIL: "not an address of this machine",
}


@contextmanager
def reported_in_one_line(config: ServerConfig | None = None) -> Iterator[None]:
    """Failures of the machine, the storage or the set-up; defects keep their
    traceback. ``config``: of the server that was to listen, if one was."""
    try:
        yield
    except Exception as failure:
        cause = _only(failure)
        if not isinstance(cause, _Reported):
            raise
        raise click.ClickException(sentence(cause, config)) from failure


def _only(failure: Exception) -> Exception:
    """Parts run in groups, and a group wraps even a single failure."""
    while isinstance(failure, ExceptionGroup) and len(failure.exceptions) == 1:
        failure = failure.exceptions[0]
    return failure


def sentence(cause: _Reported, config: ServerConfig | None) -> str:
    """Why a server of this configuration cannot run, or a command without one."""
    if not isinstance(cause, OSError) or isinstance(cause, NotPrivate):
        return str(cause)
    if cause.filename is not None:
        return f"{os.fsdecode(cause.filename)}: {_reason(cause)}"
    if config is None:
        return _reason(cause)
    place = f"{config.bind_address}:{config.port}"
    if isinstance(cause, socket.gaierror):
        return f"{place} is not an address to listen at: {_reason(cause)}"
    if cause.errno in _LISTENING:
        return f"{place} is {_LISTENING[cause.errno]}"
    return _reason(cause)


def _reason(cause: OSError) -> str:
    text = cause.strerror or str(cause)
    return text[:1].lower() + text[1:]
