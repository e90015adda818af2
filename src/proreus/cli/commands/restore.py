"""``proreus restore``: makes a store of a backup, in a data folder or in an etcd."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from proreus.aio.clock import SystemClock
from proreus.cli.etcd_options import etcd_options
from proreus.cli.failures import reported_in_one_line
from proreus.cli.options import data_dir_option
from proreus.cli.progress import progress_line
from proreus.cli.ready import say
from proreus.server.opening import objects_file
from proreus.server.storage.backup.extent import Copied
from proreus.server.storage.backup.folder import StoreNotEmpty, restore_folder
from proreus.server.storage.interface import StorageLocked

if TYPE_CHECKING:
    from proreus.server.storage.etcd.config import EtcdConfig


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@data_dir_option("Objects are restored into it, unless an etcd is named.")
@etcd_options("Restore objects into this etcd. To keep revisions it must be a new one.")
@click.option("--force", is_flag=True, help="Replace the objects that are there.")
@click.option(
    "--bump-revision", type=click.IntRange(min=0), default=0, metavar="N",
    help="Go on N revisions later, and let every client list again. For a backup that is older "
    "than what clients have seen, if the store they saw is lost: more than was written since.",
)  # fmt: skip
def restore(
    file: Path, data_dir: Path, etcd: EtcdConfig | None, force: bool, bump_revision: int
) -> None:
    """Make a store of a backup, in a data folder or in an etcd.

    No server may run on it. In an empty store objects, revisions and the history that was saved are
    those of the backup, so that clients resume where they were. In place of other objects (--force)
    counting goes on behind every revision that clients may have seen, and all of them list again.
    FILE - is standard input.
    """
    place = str(data_dir) if etcd is None else ",".join(etcd.endpoints)
    with reported_in_one_line(), _on_disk(file) as backup:
        try:
            made = _restored(backup, data_dir, etcd, force, bump_revision)
        except StoreNotEmpty as why:
            raise click.ClickException(f"{why}; --force replaces them") from why
        except StorageLocked as why:
            raise click.ClickException(f"{why}; end it with Ctrl-C first") from why
    say(f"{place}: {made.objects} objects at revision {made.extent.revision}")
    if made.is_resumable:
        say("clients resume where they were")
    else:
        say("clients list again: revisions before this one cannot be resumed from")


def _restored(
    backup: Path, data_dir: Path, etcd: EtcdConfig | None, force: bool, skipped: int
) -> Copied:
    with progress_line("restoring") as progress:
        if etcd is None:
            return restore_folder(
                backup,
                objects_file(data_dir),
                overwrite=force,
                skipped=skipped,
                progress=progress,
            )
        from proreus.server.storage.backup.replay import restore_etcd

        return asyncio.run(
            restore_etcd(
                backup, etcd, SystemClock(), overwrite=force, skipped=skipped, progress=progress
            )
        )


@contextmanager
def _on_disk(file: Path) -> Iterator[Path]:
    if str(file) != "-":
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="proreus-restore-") as folder:
        whole = Path(folder) / "standard-input"
        with whole.open("wb") as content:
            shutil.copyfileobj(sys.stdin.buffer, content, 1 << 20)
        yield whole
