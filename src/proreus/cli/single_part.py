"""Runs one part of the cluster as a process, against any API server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.cli.ending import ending
from proreus.cli.event_loop import run
from proreus.cli.logging import start_logging
from proreus.cli.ready import say
from proreus.client import ClientConfig, ConfigError, load_config
from proreus.cluster.components import Component, run_component

F = TypeVar("F", bound=Callable[..., None])


def kubeconfig_option(command: F) -> F:
    return click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path, dir_okay=False, exists=True),
        help="Where the server is; default: as kubectl finds it.",
    )(command)


def run_single_part(part: Component, kubeconfig: Path | None) -> None:
    try:
        config = load_config(kubeconfig)
    except ConfigError as error:
        raise click.ClickException(str(error)) from error
    start_logging()
    run(_until_asked_to_end(part, config))


async def _until_asked_to_end(part: Component, config: ClientConfig) -> None:
    asked = ending()
    async with background(run_component(part, config, SystemClock())):
        say(f"proreus {part.name} is running against {config.host}")
        await asked.wait()
