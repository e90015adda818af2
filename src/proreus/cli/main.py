"""``proreus``: commands are loaded when used, so that ``--help`` is quick."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import click

_COMMANDS: Mapping[str, str] = {
    "up": "proreus.cli.commands.up:up",
    "server": "proreus.cli.commands.server:server",
    "controllers": "proreus.cli.commands.controllers:controllers",
    "scheduler": "proreus.cli.commands.scheduler:scheduler",
    "kubelet": "proreus.cli.commands.kubelet:kubelet",
    "kubeconfig": "proreus.cli.commands.kubeconfig:kubeconfig",
    "token": "proreus.cli.commands.token:token",
}


class LazyCommands(click.Group):
    """Finds a command by its entry in ``_COMMANDS``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = _COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="proreus")
def main() -> None:
    """Kubernetes' list-watch system: API server, client machinery, controllers."""


if __name__ == "__main__":
    main()
