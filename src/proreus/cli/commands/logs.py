"""``proreus logs``: what the server or cluster of a data folder has logged, and goes on to log."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import click

from proreus.aio.clock import SystemClock
from proreus.cli.log_file import LEVELS, LoggedEvent, LogReader, lines_from, log_files
from proreus.cli.options import data_dir_option
from proreus.cli.ready import say
from proreus.cli.verbosity import is_verbose

_LOOKED_AGAIN_S = 0.25


@click.command()
@data_dir_option("Of the server or cluster.")
@click.option("-f", "--follow", is_flag=True, help="Go on, with what is logged from now on.")
@click.option(
    "--tail", type=click.IntRange(0), metavar="N", help="Only the last N lines; default: all."
)
@click.option(
    "--level", type=click.Choice(LEVELS), default="info", show_default=True,
    help="Lines of this level or a higher one.",
)  # fmt: skip
def logs(data_dir: Path, follow: bool, tail: int | None, level: str) -> None:
    """Print what a cluster or server has logged.

    Logs of a pod's containers are kubectl's: kubectl logs POD.
    """
    if not log_files(data_dir) and not follow:
        raise click.ClickException(
            f"nothing was logged in {data_dir} yet; `proreus up --data-dir {data_dir}` starts a "
            "cluster there, or name another folder with --data-dir"
        )
    with LogReader(data_dir) as reader:
        lines: Iterable[LoggedEvent] = lines_from(reader.new_lines(), level)
        _print(deque(lines, maxlen=tail) if tail is not None else lines)
        if follow:
            with suppress(KeyboardInterrupt):
                asyncio.run(_follow(reader, level))


def _print(lines: Iterable[LoggedEvent]) -> None:
    for line in lines:
        say(line.rendered(with_traceback=is_verbose()))


async def _follow(reader: LogReader, level: str) -> None:
    """Until interrupted."""
    clock = SystemClock()
    while True:
        _print(lines_from(reader.new_lines(), level))
        await clock.sleep(_LOOKED_AGAIN_S)
