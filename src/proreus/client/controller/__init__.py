"""Controllers: keep the world as objects say it should be."""

from proreus.client.controller.controller import Controller, Outcome
from proreus.client.controller.reconciler import Reconcile, Request, Result, TerminalError
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
    "Outcome",
    "Predicate",
    "Reconcile",
    "Request",
    "Result",
    "TerminalError",
    "Watch",
    "changed_beside_status",
    "own_key",
    "owner_keys",
]
