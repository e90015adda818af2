"""``proreus server``: the API server alone, until it is told to end."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from proreus.cli.event_loop import ending, run
from proreus.cli.logging import log_to_stderr
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.server.storage.interface import StorageError

_DATA_DIR = Path(".proreus")


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=_DATA_DIR,
    show_default=True,
    help="Objects, keys and the kubeconfig are kept here.",
)
@click.option("--bind-address", default="127.0.0.1", show_default=True)
@click.option("--port", default=6443, show_default=True, help="0 takes a free one.")
@click.option("--etcd", default="", metavar="URL[,URL]", help="Keep objects in etcd instead.")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write it; default: in the data folder.",
)
@click.option(
    "--tokens-file",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Further users: token,user,uid,groups per line.",
)
@click.option("--insecure-http", is_flag=True, help="No TLS; on loopback addresses only.")
def server(
    data_dir: Path,
    bind_address: str,
    port: int,
    etcd: str,
    kubeconfig: Path | None,
    tokens_file: Path | None,
    insecure_http: bool,
) -> None:
    """Run the API server."""
    try:
        config = ServerConfig(
            data_dir=data_dir,
            bind_address=bind_address,
            port=port,
            tls=not insecure_http,
            etcd=tuple(filter(None, etcd.split(","))),
            kubeconfig=(kubeconfig or data_dir / "kubeconfig").absolute(),
            tokens_file=tokens_file,
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    log_to_stderr()
    try:
        run(serve(config))
    except (StorageError, OSError) as error:
        raise click.ClickException(str(error)) from error


async def serve(config: ServerConfig) -> None:
    asked = ending()
    async with ApiServer(config) as running:
        click.echo(f"proreus server is ready at {running.url}")
        click.echo(f"kubeconfig: {config.kubeconfig}")
        click.echo(f"export KUBECONFIG={config.kubeconfig}")
        sys.stdout.flush()
        await asked.wait()
