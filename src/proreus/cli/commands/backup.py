"""``proreus backup``: a file of all objects, while their server runs."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from proreus.aio.clock import SystemClock
from proreus.cli.etcd_options import etcd_options
from proreus.cli.failures import reported_in_one_line
from proreus.cli.options import data_dir_option
from proreus.cli.progress import progress_line
from proreus.server.opening import objects_file
from proreus.server.storage.backup.extent import Copied
from proreus.server.storage.backup.folder import back_up_folder

if TYPE_CHECKING:
    from proreus.server.storage.etcd.config import EtcdConfig

_DAMAGED = 1
_NAMED_MAX = 10


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@data_dir_option("Its objects are saved, unless an etcd is named.")
@etcd_options("Save the objects that are in this etcd.")
def backup(file: Path, data_dir: Path, etcd: EtcdConfig | None) -> None:
    """Save all objects in a file, while their server runs.

    All are as they were at one moment. The file is written under another name, verified, synced
    and then renamed: FILE is whole or as it was. Objects that are encrypted stay so. Keys and
    certificates of the data folder are not in it. FILE - is standard output.
    """
    with reported_in_one_line():
        made = (_to_stdout if str(file) == "-" else partial(_saved, file))(data_dir, etcd)
    click.echo(f"{file}: {made.objects} objects at revision {made.extent.revision}", err=True)
    if made.damaged:
        _say_damaged(made.damaged)
        raise click.exceptions.Exit(_DAMAGED)


def _saved(file: Path, data_dir: Path, etcd: EtcdConfig | None) -> Copied:
    with progress_line("saving") as progress:
        if etcd is None:
            return back_up_folder(objects_file(data_dir), file, progress)
        from proreus.server.storage.backup.etcd import back_up_etcd

        return asyncio.run(back_up_etcd(etcd, file, SystemClock(), progress))


def _to_stdout(data_dir: Path, etcd: EtcdConfig | None) -> Copied:
    """Nothing is sent before all of it was verified."""
    if sys.stdout.isatty():
        raise click.UsageError("a backup is no text: send standard output into a file or a program")
    with tempfile.TemporaryDirectory(prefix="proreus-backup-") as folder:
        whole = Path(folder) / "objects.db"
        made = _saved(whole, data_dir, etcd)
        with whole.open("rb") as content:
            shutil.copyfileobj(content, sys.stdout.buffer, 1 << 20)
        return made


def _say_damaged(keys: tuple[str, ...]) -> None:
    named = ", ".join(keys[:_NAMED_MAX]) + (", …" if len(keys) > _NAMED_MAX else "")
    click.echo(
        f"Error: {len(keys)} values were damaged before they were saved, and are in the file as "
        f"they are: {named}",
        err=True,
    )
