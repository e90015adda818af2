"""What a program says once its server answers: where, and how to be let in."""

from __future__ import annotations

import sys

import click

from proreus.server.app import ApiServer


def say_ready(program: str, server: ApiServer) -> None:
    kubeconfig = server.config.kubeconfig
    click.echo(f"{program} is ready at {server.url}")
    click.echo(f"kubeconfig: {kubeconfig}")
    click.echo(f"export KUBECONFIG={kubeconfig}")
    sys.stdout.flush()
