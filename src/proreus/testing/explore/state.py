"""The objects of a server at one revision, and what must hold at every one of them. Pure.

def never_two_primaries(state: State) -> bool:
    return sum(pod.labels.get("role") == "primary" for pod in state.all("pods")) <= 1

def never_deletes_a_claim_in_use(state: State) -> bool:
    gone = state.deleted("persistentvolumeclaims")
    return gone is None or not any(uses(pod, gone.name) for pod in state.all("pods"))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from proreus.api.object import KubeObject

Key = tuple[str, str]  # resource as kubectl names it, namespace/name
Invariant = Callable[["State"], object]
"""False, or an AssertionError, means that it does not hold; None counts as true."""


@dataclass(frozen=True, slots=True)
class StateChange:
    """One write: created if ``old`` is None, deleted if ``new`` is."""

    revision: int
    key: Key
    old: KubeObject | None
    new: KubeObject | None

    def __str__(self) -> str:
        verb = "creation" if self.old is None else "deletion" if self.new is None else "change"
        return f"{verb} of {self.key[0]} {self.key[1]} (revision {self.revision})"


@dataclass(frozen=True, slots=True)
class State:
    """``change`` is the write that led to it, from ``before``; None at the beginning."""

    objects: Mapping[Key, KubeObject]
    change: StateChange | None = None
    before: State | None = None

    def all(self, resource: str, namespace: str = "") -> list[KubeObject]:
        """``namespace`` empty: in all of them."""
        return [
            obj
            for (kind, _), obj in self.objects.items()
            if kind == resource and (not namespace or obj.namespace == namespace)
        ]

    def get(self, resource: str, key: str) -> KubeObject | None:
        """``key``: ``namespace/name``, or the name of what is in no namespace."""
        return self.objects.get((resource, key))

    def deleted(self, resource: str) -> KubeObject | None:
        """What the write removed, if it was of this kind."""
        if self.change is None or self.change.new is not None or self.change.key[0] != resource:
            return None
        return self.change.old


def violations(
    beginning: State, changes: Iterable[StateChange], invariants: Iterable[Invariant]
) -> list[str]:
    """Sentences, one per invariant: the first revision where it does not hold."""
    waiting = list(invariants)
    found = []
    state = beginning
    for change in changes:
        if not waiting:
            break
        state = _after(state, change)
        for invariant in list(waiting):
            if (why := _broken(invariant, state)) is not None:
                waiting.remove(invariant)
                found.append(f"{why}, after the {change}")
    return found


def _after(state: State, change: StateChange) -> State:
    objects = dict(state.objects)
    if change.new is None:
        objects.pop(change.key, None)
    else:
        objects[change.key] = change.new
    # Not the whole past: states would hold each other for ever.
    return State(objects, change, State(state.objects, state.change))


def _broken(invariant: Invariant, state: State) -> str | None:
    name = getattr(invariant, "__name__", repr(invariant)).replace("_", " ")
    try:
        holds = invariant(state)
    except AssertionError as failure:
        why = str(failure).partition("\n")[0]  # what test runners add is not the author's
        return f"{name}: {why}" if why else name
    return name if holds is False else None
