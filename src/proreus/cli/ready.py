"""The lines a command prints once its server answers: its address and credentials."""

from __future__ import annotations

import os
import shlex
import sys

import click

from proreus.server.app import ApiServer


def say_ready(program: str, server: ApiServer, *more: str) -> None:
    lines = [f"{program} is ready at {server.url}"]
    config = server.config
    if config.kubeconfig is not None:
        lines += [
            f"kubeconfig: {config.kubeconfig}",
            f"export KUBECONFIG={shlex.quote(str(config.kubeconfig))}",
        ]
    elif (file := server.token_file) is not None:
        lines += [
            f"token: {file}",
            "no kubeconfig: kubectl and other clients send no credentials over plain HTTP",
        ]
    say(*lines, *more)


def say(*lines: str) -> None:
    """On stdout. Whoever listened may be gone (``| head -1``): the program goes on without."""
    try:
        click.echo("\n".join(lines))
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered would fail again when the process ends.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
