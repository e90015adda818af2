"""``proreus server``: the API server alone, until it is told to end."""

from __future__ import annotations

from dataclasses import replace

import click

from proreus.cli.event_loop import ending, run
from proreus.cli.failures import told_in_one_line
from proreus.cli.logging import log_to_stderr
from proreus.cli.ready import say_ready
from proreus.cli.server_options import server_options
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig


@click.command()
@server_options
@click.option("--insecure-http", is_flag=True, help="No TLS; on loopback addresses only.")
def server(config: ServerConfig, insecure_http: bool) -> None:
    """Run the API server."""
    try:
        config = replace(config, tls=not insecure_http)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    log_to_stderr()
    with told_in_one_line(config):
        run(serve(config))


async def serve(config: ServerConfig) -> None:
    asked = ending()
    async with ApiServer(config) as running:
        say_ready("proreus server", running)
        await asked.wait()
