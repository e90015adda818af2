"""Controllers: bring the cluster to the state that objects declare."""

from proreus.client.controller.controller import Controller, ReconcileOutcome
from proreus.client.controller.reconciler import (
    Reconcile,
    Request,
    Result,
    RetryLater,
    TerminalError,
)
from proreus.client.controller.sources import (
    KeysOf,
    Predicate,
    Watch,
    changed_beside_status,
    own_key,
    owner_keys,
)

__all__ = [
    "Controller",
    "KeysOf",
    "Predicate",
    "Reconcile",
    "ReconcileOutcome",
    "Request",
    "Result",
    "RetryLater",
    "TerminalError",
    "Watch",
    "changed_beside_status",
    "own_key",
    "owner_keys",
]
