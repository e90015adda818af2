"""What to do with one object of the graph. Pure.

``next_step`` decides by the graph alone. Where an owner may be gone it returns ``LookUp``: the
object and its owners are read from the server, and ``decide_by_owners`` decides by what was found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from proreus.api.finalizers import FOREGROUND, ORPHAN
from proreus.cluster.controllers.garbage_collector.graph import Graph, Node


@dataclass(frozen=True, slots=True)
class Keep:
    """Nothing is to be done now."""


@dataclass(frozen=True, slots=True)
class LookUp:
    """Read the object and its owners from the server, then ``decide_by_owners``."""


@dataclass(frozen=True, slots=True)
class Orphan:
    """Take the reference to this object out of the dependents, then remove its finalizer."""

    dependents: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """Remove the finalizer by which the object waited."""

    finalizer: str


Step: TypeAlias = Keep | LookUp | Orphan | RemoveFinalizer


@dataclass(frozen=True, slots=True)
class Owners:
    """Uids of owners by what became of them."""

    solid: frozenset[str]
    dangling: frozenset[str]
    waiting: frozenset[str]  # being deleted in the foreground: they wait for this object


@dataclass(frozen=True, slots=True)
class DropOwners:
    uids: frozenset[str]


@dataclass(frozen=True, slots=True)
class DeleteObject:
    propagation: str


OwnerDecision: TypeAlias = Keep | DropOwners | DeleteObject


def next_step(graph: Graph, uid: str) -> Step:
    node = graph.get(uid)
    if node is None:
        return Keep()
    if node.leaves_orphans:
        return Orphan(tuple(graph.dependents(uid)))
    if node.waits_for_dependents:
        # Its dependents were enqueued when it began to wait.
        return RemoveFinalizer(FOREGROUND) if graph.is_unblocked(uid) else Keep()
    if node.is_deleting or graph.has_living_owners(node):
        return Keep()
    return LookUp()


def decide_by_owners(
    owners: Owners, finalizers: frozenset[str], has_dependents: Callable[[], bool]
) -> OwnerDecision:
    """An object without a solid owner is deleted. One solid owner keeps it; then the others are
    dropped, because those that wait would wait for ever."""
    lost = owners.dangling | owners.waiting
    if not lost:
        return Keep()
    if owners.solid:
        return DropOwners(lost)
    if owners.waiting and has_dependents():
        return DeleteObject("Foreground")
    if ORPHAN in finalizers:
        return DeleteObject("Orphan")
    return DeleteObject("Foreground" if FOREGROUND in finalizers else "Background")
