"""``python -m proreus.cli.workers.worker NUMBER``: one process of a server, as its owner starts it.

It logs JSON lines to stderr, which the owner reads, and ends when it is asked to or when its owner
is gone.
"""

from __future__ import annotations

import socket
import sys

import click
import structlog

from proreus.cli.ending import ending
from proreus.cli.event_loop import run
from proreus.cli.failures import reported_in_one_line
from proreus.cli.logging import start_logging
from proreus.cli.owned_process.order import ended_with, receive_order
from proreus.cli.verbosity import verbose_option
from proreus.cli.workers.messages import Answering, Failed, encoded_report
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig

_log = structlog.get_logger(__name__)


@click.command(params=[verbose_option()])
@click.argument("number", type=int)
def worker(number: int) -> None:
    """Started by ``proreus server --workers``, not by people."""
    owner = socket.socket(fileno=sys.stdin.fileno())
    config = receive_order(owner, ServerConfig)
    assert config.worker is not None and config.worker.number == number
    start_logging()
    try:
        with reported_in_one_line(config):
            run(serve(config, owner))
    except click.ClickException as failure:
        _tell(owner, encoded_report(Failed(failure.message)))
        sys.exit(1)
    except Exception as defect:
        _log.exception("a worker failed by a defect")
        _tell(owner, encoded_report(Failed(f"a defect of proreus, {defect!r}")))
        sys.exit(1)


async def serve(config: ServerConfig, owner: socket.socket) -> None:
    async with ending() as asked, ApiServer(config) as server:
        await server.wait_ready()
        _tell(owner, encoded_report(Answering()))
        with ended_with(owner, asked):
            await asked.wait()


def _tell(owner: socket.socket, line: bytes) -> None:
    try:
        owner.setblocking(True)
        owner.sendall(line)
    except OSError:
        _log.warning("the owner of this worker is gone")


if __name__ == "__main__":
    worker()
