"""``python -m proreus.cli.part_process``: some parts of ``proreus up`` in a process of their own.

They reach the server as they would in its process, each with its own certificate. It logs JSON
lines to stderr, which its owner reads, and ends when it is asked to or when its owner is gone.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys

import click

from proreus.aio.clock import Clock, SystemClock
from proreus.aio.tasks import background
from proreus.cli.ending import ending
from proreus.cli.event_loop import run
from proreus.cli.logging import start_logging
from proreus.cli.owned_process.order import ended_with, receive_order
from proreus.cli.part_identities import PartIdentities
from proreus.cli.parts_order import PartsOrder
from proreus.cli.tuning import yield_to_server
from proreus.cli.verbosity import verbose_option
from proreus.cluster.components import Component, run_component
from proreus.net.tls.certificate_authority import CertificateAuthority
from proreus.server.credentials import tls_folder


@click.command(params=[verbose_option()])
def part_process() -> None:
    """Started by ``proreus up``, not by people."""
    # Who interrupts a command in a terminal interrupts all of its processes; the owner decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    owner = socket.socket(fileno=sys.stdin.fileno())
    order = receive_order(owner, PartsOrder)
    start_logging()
    if not order.runs_containers():
        yield_to_server()
    run(_run(order, owner))


async def _run(order: PartsOrder, owner: socket.socket) -> None:
    asked, clock = ending(signal.SIGTERM), SystemClock()
    identities = PartIdentities(order.url, CertificateAuthority.of(tls_folder(order.data_dir)))
    parts = (
        run_part(part, identities, clock, order.reports_activity)
        for part in order.components(clock)
    )
    with ended_with(owner, asked):
        async with background(*parts):
            await asked.wait()


async def run_part(
    part: Component, identities: PartIdentities, clock: Clock, reports_activity: bool
) -> None:
    """Until cancelled, as who it is."""
    own = await asyncio.to_thread(identities.config, part, clock.now())
    await run_component(part, own, clock, reports_activity=reports_activity)


if __name__ == "__main__":
    part_process()
