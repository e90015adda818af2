"""``proreus completion``: the script by which a shell asks click for completions."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

_SHELLS: dict[str, type[ShellComplete]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
}
_PROGRAM, _VARIABLE = "proreus", "_PROREUS_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(list(_SHELLS)))
def completion(shell: str) -> None:
    """Print a script that completes commands in your shell.

    \b
    bash:  source <(proreus completion bash)
    zsh:   source <(proreus completion zsh)
    fish:  proreus completion fish | source

    Put that line into your shell's start file to have it always.
    """
    root = click.get_current_context().find_root().command
    # The script calls the program again; asking it which bash this is would only print a warning.
    script = _SHELLS[shell](root, {}, _PROGRAM, _VARIABLE)
    click.echo(script.source_template % script.source_vars())
