"""Controllers: bring the cluster to the state that objects declare."""

from proreus.client.controller.controller import Controller, ReconcileLimits, ReconcileOutcome
from proreus.client.controller.predicates import (
    Predicate,
    all_of,
    annotations_changed,
    any_of,
    changed_beside_status,
    changes_of,
    deletion,
    generation_changed,
    labels_changed,
    negated,
)
from proreus.client.controller.reconciler import (
    Reconcile,
    Request,
    Result,
    RetryLater,
    TerminalError,
)
from proreus.client.controller.sources import KeysOf, Watch, own_key, owner_keys

__all__ = [
    "Controller",
    "KeysOf",
    "Predicate",
    "Reconcile",
    "ReconcileLimits",
    "ReconcileOutcome",
    "Request",
    "Result",
    "RetryLater",
    "TerminalError",
    "Watch",
    "all_of",
    "annotations_changed",
    "any_of",
    "changed_beside_status",
    "changes_of",
    "deletion",
    "generation_changed",
    "labels_changed",
    "negated",
    "own_key",
    "owner_keys",
]
