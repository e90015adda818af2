"""Options of ``up`` and ``controllers``, under kube-controller-manager's names."""

from __future__ import annotations

from functools import wraps
from typing import Any

import click

from proreus.cli.options import Command, duration, with_options
from proreus.cluster.controller_settings import ControllerSettings


def controller_options(command: Command) -> Command:
    """Adds them, and calls the command with the ``controller_settings`` they make."""

    @wraps(command)
    def decided(
        *,
        node_monitor_grace_period: float,
        pod_gc_period: float,
        terminated_pod_gc_threshold: int,
        cluster_signing_duration: float,
        use_service_account_credentials: bool,
        **others: Any,
    ) -> None:
        settings = ControllerSettings(
            node_monitor_grace_period,
            pod_gc_period,
            terminated_pod_gc_threshold,
            cluster_signing_duration_s=cluster_signing_duration,
            use_service_account_credentials=use_service_account_credentials,
        )
        command(controller_settings=settings, **others)

    return with_options(
        decided,
        duration(
            "--node-monitor-grace-period", "50s", "After which silence a node is not ready."
        ),
        duration(
            "--pod-gc-period", "20s", "How often pods are looked for that nobody will finish."
        ),
        click.option(
            "--terminated-pod-gc-threshold", type=click.IntRange(0), default=12_500,
            show_default=True, help="How many finished pods are kept.",
        ),
        duration(
            "--cluster-signing-duration", "8760h", "How long signed certificates last at most."
        ),
        click.option(
            "--use-service-account-credentials/--no-use-service-account-credentials",
            default=True, show_default=True,
            help="Each controller writes as its own service account in kube-system.",
        ),
    )  # fmt: skip
