"""``proreus``: a command is loaded when it is used, so that ``--help`` and completion are quick."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from proreus.cli.end_at_once import end_at_once
from proreus.cli.environment import described_environment
from proreus.cli.verbosity import is_verbose, verbose_option

# What ``--help`` says of each; its module has its name.
_COMMANDS: Mapping[str, str] = {
    "up": "Run a whole cluster.",
    "status": "Say how the cluster of a data folder does.",
    "dashboard": "Print a link that logs in to the dashboard, once and within ten minutes.",
    "logs": "Print what a cluster or server has logged.",
    "kubeconfig": "Print or merge a kubeconfig: the administrator's, or one for --user.",
    "token": "Print a kubeconfig with a service account's token.",
    "backup": "Save all objects in a file, while their server runs.",
    "restore": "Make a store of a backup, in a data folder or in an etcd.",
    "reset": "Remove a data folder's objects and keys.",
    "server": "Run the API server alone.",
    "controllers": "Run the controllers against any API server.",
    "scheduler": "Run the scheduler against any API server.",
    "kubelet": "Run nodes against any API server.",
    "explore": "Run a controller and a workload again for everything that can go wrong.",
    "replay": "Serve the record of a test's run, read-only, at any point in time.",
    "completion": "Print a script that completes commands in your shell.",
}


# Those that run until they are asked to end, which is then no failure.
_SERVING = frozenset({"up", "server", "controllers", "scheduler", "kubelet", "replay"})


class LazyCommands(click.Group):
    """Finds a command by its entry in ``_COMMANDS``, and reports failures of all of them."""

    _is_program = False

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """As a program, not as a part of one."""
        self._is_program = True
        return super().__call__(*arguments, **options)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        if self._is_program and cmd_name in _SERVING:
            end_at_once()  # whatever there is to load
        with _uncollected():
            module = importlib.import_module(f"proreus.cli.commands.{cmd_name}")
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)
        if not any(option.name == "verbose" for option in command.params):
            command.params.append(verbose_option())
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as defect:
            if is_verbose():
                raise
            raise click.ClickException(
                f"a defect of proreus, {type(defect).__name__}: {defect}; run it again with -v to "
                "see where, and report that"
            ) from defect


@contextmanager
def _uncollected() -> Iterator[None]:
    """Loading modules makes a hundred thousand objects that stay, and next to no garbage: looking
    for some took a fifth of the time. Later collections leave these out as well."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@click.group(
    cls=LazyCommands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=described_environment(),
    params=[verbose_option()],
)
@click.version_option(package_name="proreus")
def main() -> None:
    """Kubernetes' list-watch system: API server, client machinery, controllers."""


if __name__ == "__main__":
    main()
