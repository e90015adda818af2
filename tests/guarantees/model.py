"""What a watcher should receive, computed from the writes alone: what promises are held against."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from proreus.server.watch_cache.query import Selection
from tests.watching import selection


@dataclass(frozen=True)
class Thing:
    """An object as it was written."""

    key: str
    label: str
    node: str
    revision: int

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]


Wanted = Callable[[Thing], bool]


@dataclass(frozen=True)
class Select:
    """A selection as the server reads it, and what it means in plain Python."""

    asked: Selection
    wants: Wanted


SELECTIONS = [
    Select(selection(), lambda _: True),
    Select(selection("tier=web"), lambda t: t.label == "web"),
    Select(selection("tier!=web"), lambda t: t.label != "web"),
    Select(selection("!tier"), lambda t: t.label == ""),
    Select(selection("tier in (web,db)"), lambda t: t.label in ("web", "db")),
    Select(selection(fields="spec.nodeName=n1"), lambda t: t.node == "n1"),
    Select(selection(fields="spec.nodeName="), lambda t: t.node == ""),
    Select(selection(fields="spec.nodeName!=n1"), lambda t: t.node != "n1"),
    Select(selection(namespace="a"), lambda t: t.namespace == "a"),
    Select(selection(namespace="a", name="x"), lambda t: t.key == "a/x"),
    Select(selection(fields="metadata.name=y"), lambda t: t.key.endswith("/y")),
    Select(
        selection("tier=db", "spec.nodeName=n1", namespace="a-b"),
        lambda t: t.label == "db" and t.node == "n1" and t.namespace == "a-b",
    ),
]


@dataclass(frozen=True)
class Expected:
    type: str
    key: str
    revision: int

    def __str__(self) -> str:
        return f"{self.type} {self.key} {self.revision}"


@dataclass
class Model:
    """Every write in order. ``None`` is a deletion."""

    writes: list[tuple[int, str, Thing | None]] = field(default_factory=list)

    def note(self, revision: int, key: str, thing: Thing | None) -> None:
        self.writes.append((revision, key, thing))

    @property
    def revisions(self) -> list[int]:
        return [revision for revision, _, _ in self.writes]

    def state(self, revision: int, wants: Wanted) -> list[Thing]:
        """What a list at ``revision`` shows, in key order."""
        return sorted(
            (thing for thing in self._all(revision).values() if wants(thing)),
            key=lambda thing: thing.key.encode(),
        )

    def events(self, after: int, wants: Wanted) -> Iterator[Expected]:
        """What a watch after a revision receives, to the end."""
        state = self._all(after)
        for revision, key, new in self.writes:
            if revision <= after:
                continue
            old = state.pop(key, None)
            if new is not None:
                state[key] = new
            was, is_now = old is not None and wants(old), new is not None and wants(new)
            if is_now:
                yield Expected("MODIFIED" if was else "ADDED", key, revision)
            elif was:
                yield Expected("DELETED", key, revision)

    def _all(self, revision: int) -> dict[str, Thing]:
        state: dict[str, Thing] = {}
        for written, key, thing in self.writes:
            if written > revision:
                break
            if thing is None:
                state.pop(key, None)
            else:
                state[key] = thing
        return state
