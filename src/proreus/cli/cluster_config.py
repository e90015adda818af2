"""How commands reach the cluster of a data folder that somebody has started."""

from __future__ import annotations

from pathlib import Path

import click

from proreus.client import ClientConfig, ConfigError, load_config
from proreus.server.credentials import kubeconfig_file

kubeconfig_option = click.option(
    "--kubeconfig", "file", type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="To ask with; default: the administrator's, in the data folder.",
)  # fmt: skip


def cluster_config(data_dir: Path, file: Path | None) -> ClientConfig:
    """By ``file``, or by the folder's own kubeconfig. Raises ClickException."""
    own = kubeconfig_file(data_dir)
    if file is None and not own.is_file():
        raise click.ClickException(
            f"no server was ever started on {data_dir}; `proreus up` starts a cluster, "
            "--data-dir names another folder"
        )
    try:
        return load_config(file or own)
    except ConfigError as error:
        raise click.ClickException(str(error)) from error
