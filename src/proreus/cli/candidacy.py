"""Options of leader election, under kube-controller-manager's names."""

from __future__ import annotations

from functools import wraps
from typing import Any

import click

from proreus.cli.options import Command, duration, with_options
from proreus.client.leader_election import ElectionTiming
from proreus.cluster.leader_election import Candidacy


def candidacy_options(command: Command) -> Command:
    """Adds them, and calls the command with the ``candidacy`` they make, or None."""

    @wraps(command)
    def decided(
        *,
        leader_elect: bool,
        leader_elect_lease_duration: float,
        leader_elect_renew_deadline: float,
        leader_elect_retry_period: float,
        **others: Any,
    ) -> None:
        if leader_elect_lease_duration != int(leader_elect_lease_duration):
            raise click.UsageError("a lease lasts whole seconds")
        try:
            timing = ElectionTiming(
                int(leader_elect_lease_duration),
                leader_elect_renew_deadline,
                leader_elect_retry_period,
            )
        except ValueError as problem:
            raise click.UsageError(str(problem)) from problem
        command(candidacy=Candidacy(timing=timing) if leader_elect else None, **others)

    return with_options(
        decided,
        click.option(
            "--leader-elect/--no-leader-elect", default=True, show_default=True,
            help="Work only while holding the lease.",
        ),
        duration("--leader-elect-lease-duration", "15s", "After which silence another may lead."),
        duration("--leader-elect-renew-deadline", "10s", "How long a leader tries to renew."),
        duration("--leader-elect-retry-period", "2s", "How often candidates and leaders try."),
    )  # fmt: skip
