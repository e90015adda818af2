"""What a person runs: reconcilers, leader election, events, health, metrics, logs, signals."""

from proreus.client.operator.operator import LeaderElection, Operator
from proreus.client.operator.reconciliation import Reconciliation, StatusCondition
from proreus.client.operator.registration import ReconcilerOptions, Watched

__all__ = [
    "LeaderElection",
    "Operator",
    "ReconcilerOptions",
    "Reconciliation",
    "StatusCondition",
    "Watched",
]
