"""Leader election of a component: of several processes one works, by a Lease.

Its writes are fenced by the elector: nothing is sent once the lease may be another's.
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
    """The identity and the timing of a candidate."""

    identity: str = field(default_factory=own_identity)
    timing: ElectionTiming = field(default_factory=ElectionTiming)


async def run_as_leader(
    client: Client,
    clock: Clock,
    lease: str,
    candidacy: Candidacy,
    work: Callable[[], Awaitable[None]],
) -> None:
    """Until cancelled: acquire the lease, work while holding it, try again when it is lost."""
    # The lease has connections of its own: a renewal must not wait behind the work's requests.
    async with Client(client.config, clock=clock, on_warning=note_warning) as own:
        elector = LeaderElector(
            LeaseLock(own.coordination_v1.leases(LEASE_NAMESPACE), LEASE_NAMESPACE, lease),
            candidacy.identity,
            timing=candidacy.timing,
            clock=clock,
        )
        while True:
            try:
                await elector.run(work)
            except LeadershipLost as lost:
                log.warning("leadership lost, trying again: reason=%s", lost)
