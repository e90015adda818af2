"""What a command says once its server answers: plain lines for programs, more for a person.

The plain lines are an interface: their beginnings do not change, further ones may come after them.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import click

from proreus.cli.kubectl import advice
from proreus.lazy_dataclass import dataclass

_TRY = (
    "kubectl create deployment web --image=nginx --replicas=3",
    "kubectl get pods --watch",
    "kubectl scale deployment web --replicas=5",
)


@dataclass(frozen=True, slots=True)
class Announcement:
    """A server that answers. ``nodes`` is 0 where none are run, ``workers`` where it is one
    process. ``pages``: what a browser may open, by name."""

    program: str
    url: str
    kubeconfig: Path | None = None
    token_file: Path | None = None
    data_dir: Path | None = None
    nodes: int = 0
    runtime: str = ""
    workers: int = 0
    pages: tuple[tuple[str, str], ...] = ()


async def say_ready(ready: Announcement) -> None:
    if sys.stdout is None or not sys.stdout.isatty():
        say(*plain(ready))
        return
    # Asked here: a pipe has nobody to advise.
    note = await advice() if ready.kubeconfig is not None else ""
    say(*banner(ready, note))


def plain(ready: Announcement) -> list[str]:
    lines = [f"{ready.program} is ready at {ready.url}"]
    if ready.kubeconfig is not None:
        lines += [f"kubeconfig: {ready.kubeconfig}", _export(ready.kubeconfig)]
    elif ready.token_file is not None:
        lines += [
            f"token: {ready.token_file}",
            "no kubeconfig: kubectl and other clients send no credentials over plain HTTP",
        ]
    return [*lines, *(f"{name}: {value}" for name, value in _facts(ready))]


def banner(ready: Announcement, note: str = "") -> list[str]:
    """``note``: what the person should know before trying."""
    from importlib.metadata import version  # slow to load, and for people only

    width = 2 + max((len(name) for name, _ in _facts(ready)), default=0)
    lines = [f"{ready.program} {version('proreus')} is ready at {ready.url}", ""]
    lines += [f"  {name:<{width}}{value}" for name, value in _facts(ready)]
    if ready.kubeconfig is not None:
        commands = _TRY if ready.nodes else ("kubectl api-resources",)
        lines += ["", "Try, in another terminal:", "", f"  {_export(ready.kubeconfig)}"]
        lines += [f"  {command}" for command in commands]
    elif ready.token_file is not None:
        lines += ["", f"The token is in {ready.token_file}; over plain HTTP kubectl sends none."]
    if note:
        lines += ["", note]
    return [*lines, "", "Ctrl-C ends it; the next start finds everything."]


def _facts(ready: Announcement) -> list[tuple[str, str]]:
    facts = []
    if ready.nodes:
        facts += [("nodes", str(ready.nodes)), ("runtime", ready.runtime)]
    if ready.workers:
        facts.append(("workers", str(ready.workers)))
    if ready.data_dir is not None:
        facts.append(("data", str(ready.data_dir.absolute())))
    return [*facts, *ready.pages]


def _export(kubeconfig: Path) -> str:
    return f"export KUBECONFIG={shlex.quote(str(kubeconfig))}"


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
