"""Where commands that make credentials put them: a file that only its owner may read, or stdout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from proreus.cli.ready import say
from proreus.net.private_files import write_private

F = TypeVar("F", bound=Callable[..., None])
_STDOUT = Path("-")


def output_option(command: F) -> F:
    return click.option(
        "--output", "-o", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
        default=_STDOUT, help="A file, readable by its owner only; default: standard output.",
    )(command)  # fmt: skip


def put(content: bytes, output: Path) -> None:
    """Raises ClickException."""
    if output == _STDOUT:
        say(content.decode().rstrip("\n"))
        return
    try:
        write_private(output, content)
    except OSError as error:
        raise click.ClickException(f"{output} cannot be written: {error.strerror}") from error


def about(text: str) -> None:
    """To whoever started the command; what it makes may go to a pipe."""
    click.echo(text, err=True)
