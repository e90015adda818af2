"""``proreus server``: the API server alone, until a signal ends it."""

from __future__ import annotations

import click

from proreus.cli.ending import ending
from proreus.cli.event_loop import run
from proreus.cli.failures import reported_in_one_line
from proreus.cli.logging import start_logging
from proreus.cli.ready import Announcement, say_ready
from proreus.cli.server_options import server_options
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig


@click.command()
@server_options
@click.option(
    "--insecure-http", is_flag=True,
    help="No TLS, on loopback addresses only, for clients that send a token nevertheless: "
    "kubectl does not, so that no kubeconfig is written.",
)  # fmt: skip
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, show_default=True,
    help="With --etcd: how many processes share the port, each with a core's worth.",
)  # fmt: skip
def server(config: ServerConfig, workers: int) -> None:
    """Run the API server alone."""
    if workers > 1 and not config.etcd:
        raise click.UsageError(
            "--workers needs --etcd: a SQLite file has one process, which is its only writer"
        )
    with reported_in_one_line(config):
        start_logging(config.data_dir)
        run(serve(config) if workers == 1 else _serve_by_workers(config, workers))


async def _serve_by_workers(config: ServerConfig, workers: int) -> None:
    from proreus.cli.workers.owner import serve_by_workers  # of no use to one process

    await serve_by_workers(config, workers)


async def serve(config: ServerConfig) -> None:
    async with ending() as asked, ApiServer(config) as running:
        await running.wait_ready()
        await say_ready(
            Announcement(
                "proreus server",
                running.url,
                kubeconfig=config.kubeconfig,
                token_file=running.token_file,
                data_dir=config.data_dir,
            )
        )
        await asked.wait()
