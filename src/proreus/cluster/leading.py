"""A part of which several run and one works, by a Lease.

The part gets a client that sends no write once the lease may be another's: also a process that was
frozen in the middle of its work, and wakes up when somebody else leads, changes nothing.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from proreus.aio.clock import Clock
from proreus.client.client import Client
from proreus.client.leader_election import ElectionTiming, LeaderElector, LeadershipLost, LeaseLock

log = logging.getLogger(__name__)

LEASE_NAMESPACE = "kube-system"


def own_identity() -> str:
    return f"{socket.gethostname()}_{os.getpid()}"


def note_warning(text: str) -> None:
    """A server's advice about versions and fields is for who writes a part, not for who runs it."""
    log.debug("server: %s", text)


@dataclass(frozen=True, slots=True)
class Candidacy:
    """Who stands, and with what patience."""

    identity: str = field(default_factory=own_identity)
    timing: ElectionTiming = field(default_factory=ElectionTiming)


async def lead(
    client: Client,
    clock: Clock,
    lease: str,
    candidacy: Candidacy,
    work: Callable[[Client], Awaitable[None]],
) -> None:
    """Until cancelled: wait for the lease, work while holding it, stand again when it is lost."""
    elector = LeaderElector(
        LeaseLock(client.coordination_v1.leases(LEASE_NAMESPACE), LEASE_NAMESPACE, lease),
        candidacy.identity,
        timing=candidacy.timing,
        clock=clock,
    )

    async def workload() -> None:
        may_act = elector.may_act
        async with Client(
            client.config, clock=clock, permit=may_act, on_warning=note_warning
        ) as own:
            await work(own)

    while True:
        try:
            await elector.run(workload)
        except LeadershipLost as lost:
            log.warning("standing again: reason=%s", lost)
