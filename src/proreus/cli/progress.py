"""How far a long command is, for a person at a terminal; programs get nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from proreus.aio.clock import SystemClock

_PAUSE_S = 0.2


@contextmanager
def progress_line(doing: str) -> Iterator[Callable[[float], None]]:
    """Call what it gives with the share that is done; on stderr, removed at the end."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _share: None
        return
    clock, shown_at = SystemClock(), float("-inf")

    def show(share: float) -> None:
        nonlocal shown_at
        if (now := clock.monotonic()) - shown_at >= _PAUSE_S:
            shown_at = now
            click.echo(f"\r{doing}: {min(share, 1.0):.0%}", nl=False, err=True)

    try:
        yield show
    finally:
        click.echo(f"\r{' ' * (len(doing) + 6)}\r", nl=False, err=True)
