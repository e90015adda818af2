"""``proreus reset``: removes what ``up`` and ``server`` made in a data folder, and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import click

from proreus.cli.log_file import log_files
from proreus.cli.options import data_dir_option
from proreus.cli.ready import say
from proreus.cluster.volumes.standard_class import volumes_folder
from proreus.server.credentials import kubeconfig_file, tls_folder, token_file
from proreus.server.opening import objects_file, service_accounts_key
from proreus.server.storage.interface import StorageError
from proreus.server.storage.sqlite.lock_file import locked


@click.command()
@data_dir_option("What is removed is in it.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def reset(data_dir: Path, yes: bool) -> None:
    """Remove a data folder's objects and keys.

    The files of its volumes go too. Objects in etcd stay. Clients need the kubeconfig of the next
    start.
    """
    if not any(_ours(data_dir)):
        say(f"there is nothing of a server in {data_dir}")
        return
    try:
        with locked(_lock(data_dir)):
            if not yes:
                click.confirm(
                    f"Remove all objects, keys and volumes in {data_dir.absolute()}?", abort=True
                )
            _remove(list(_ours(data_dir)))
    except (StorageError, OSError) as error:
        raise click.ClickException(f"{error}; end it with Ctrl-C first") from error
    left = sorted(path.name for path in data_dir.iterdir()) if data_dir.is_dir() else []
    if left:
        say(f"{data_dir} is empty but for what is not a server's: {', '.join(left)}")
    else:
        data_dir.rmdir()
        say(f"{data_dir} is removed; `proreus up` begins anew")


def _ours(data_dir: Path) -> Iterator[Path]:
    yield from objects_file(data_dir).parent.glob(f"{objects_file(data_dir).name}*")
    token = token_file(data_dir)
    assert token is not None, "a folder has one"
    named = (
        token,
        kubeconfig_file(data_dir),
        tls_folder(data_dir),
        service_accounts_key(data_dir),
        data_dir / "kubelet",
        volumes_folder(data_dir),
    )
    yield from (path for path in (*named, *log_files(data_dir)) if path.exists())


def _lock(data_dir: Path) -> Path:
    return objects_file(data_dir).with_name(f"{objects_file(data_dir).name}.lock")


def _remove(paths: list[Path]) -> None:
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
