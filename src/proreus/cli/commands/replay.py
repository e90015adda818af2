"""``proreus replay``: the record of a test's run, served read-only, stepping forth and back."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
from pathlib import Path

import click

from proreus.cli.ending import ending
from proreus.cli.event_loop import run
from proreus.cli.ready import Announcement, say, say_ready
from proreus.server.config import ServerConfig
from proreus.testing.records import Record, RecordInvalid, Replay, load, replaying

_HELP = "Enter or n: the next write; p: the one before; +N, -N: further; N: a revision; q: end."


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--at", "revision", type=int, metavar="REVISION",
              help="Where to begin; default: at the end.")  # fmt: skip
@click.option("--port", default=0, show_default="a free one", help="Where it is served.")
@click.option("--requests", "shows_requests", is_flag=True,
              help="Print the requests of the run and end.")  # fmt: skip
def replay(file: Path, revision: int | None, port: int, shows_requests: bool) -> None:
    """Serve the record of a test's run, read-only, at any point in time.

    What you type steps through it: Enter the next write, p the one before, a number a revision.
    """
    try:
        record = load(file)
    except RecordInvalid as problem:
        raise click.ClickException(str(problem)) from problem
    if shows_requests:
        say(*map(_request, record.requests))
        return
    with tempfile.TemporaryDirectory(prefix="proreus-replay-") as folder:
        keys = Path(folder)
        config = ServerConfig(data_dir=keys, tls=True, port=port, kubeconfig=keys / "kubeconfig")
        run(_serve(record, config, revision))


async def _serve(record: Record, config: ServerConfig, revision: int | None) -> None:
    typed: asyncio.Queue[str] = asyncio.Queue()
    async with ending() as asked, replaying(record, config) as running:
        if revision is not None:
            await running.go_to(revision)
        await say_ready(
            Announcement("proreus replay", running.api.url, kubeconfig=config.kubeconfig)
        )
        say(_place(running), _HELP)
        _read_lines(typed)
        while not asked.is_set():
            async with asyncio.TaskGroup() as either:
                ended = either.create_task(asked.wait())
                line = either.create_task(typed.get())
                await asyncio.wait((ended, line), return_when=asyncio.FIRST_COMPLETED)
                ended.cancel()
                line.cancel()
            if line.cancelled() or line.result() == "q":
                return
            await _step(running, line.result())


async def _step(running: Replay, typed: str) -> None:
    here = running.revision
    if typed in ("", "n"):
        wanted = here + 1
    elif typed == "p":
        wanted = here - 1
    elif typed.lstrip("+-").isdecimal():
        wanted = here + int(typed) if typed[0] in "+-" else int(typed)
    else:
        say(_HELP)
        return
    await running.go_to(wanted)
    say(_place(running))


def _place(running: Replay) -> str:
    record, here = running.record, running.revision
    where = f"revision {here} of {record.revision} to {record.last_revision}"
    write = record.write_at(here)
    if write is None:
        return f"{where}: as it began"
    verb = "deleted" if write.value is None else "written"
    when = f" at {write.at_s:.3f} s" if write.at_s is not None else ""
    return f"{where}: {write.key.removeprefix('/registry/')} {verb}{when}"


def _request(asked: dict[str, object]) -> str:
    agent = str(asked.get("user_agent", "")).partition(" ")[0]
    answer = f"{asked.get('status')} {asked.get('reason') or ''}".rstrip()
    return (
        f"{asked.get('at'):9.3f} s  {agent}  {asked.get('method')} {asked.get('path')} → {answer}"
    )


def _read_lines(typed: asyncio.Queue[str]) -> None:
    """In a thread that ends with the process: nothing else can be waiting for a terminal. The end
    of the input ends nothing: a script may want the server alone."""
    loop = asyncio.get_running_loop()

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(typed.put_nowait, line.strip())

    threading.Thread(target=read, daemon=True, name="standard input").start()
