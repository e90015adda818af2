"""The mutating or the validating halves of all plugins in a row, and how long they take.

Cost: a write runs the halves that are for its operation and its resource, about a half of them.
Times are plain numbers until they are scraped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from proreus.api.group_version import GroupResource
from proreus.lazy_dataclass import dataclass
from proreus.server.histogram import BucketCounts

if TYPE_CHECKING:
    from proreus.server.registry.admission import Attributes

_BUCKETS_S = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)
_CHOICES_MAX = 4096  # operations × resources; those of removed definitions are forgotten with all

# A plugin's half. One that has nothing to wait for returns None: most do, and a coroutine costs.
Admit = Callable[["Attributes"], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class PluginHalf:
    """What it is for: ``operations`` and ``resources``; None: all."""

    name: str
    admit: Admit
    resources: frozenset[GroupResource] | None = None
    operations: frozenset[str] | None = None


@dataclass(slots=True, eq=False)
class HalfTimes:
    """Of a plugin's half, or of all halves in a row (``name`` ""), by operation."""

    name: str
    passed: dict[str, BucketCounts] = field(default_factory=dict)
    refused: dict[str, BucketCounts] = field(default_factory=dict)

    def of_passed(self, operation: str) -> BucketCounts:
        return _counts_of(self.passed, operation)

    def add_refused(self, operation: str, seconds: float) -> None:
        _counts_of(self.refused, operation).add(seconds)

    def counted(self) -> Iterator[tuple[str, str, BucketCounts]]:
        """Operation, whether it was refused, how long it took."""
        for rejected, by_operation in (("false", self.passed), ("true", self.refused)):
            for operation, counts in by_operation.items():
                if len(counts):
                    yield operation, rejected, counts


def _counts_of(by_operation: dict[str, BucketCounts], operation: str) -> BucketCounts:
    found = by_operation.get(operation)
    if found is None:
        found = by_operation[operation] = BucketCounts(_BUCKETS_S)
    return found


@dataclass(slots=True, eq=False)
class _Choice:
    """The halves for one operation on one resource, with where their times are counted."""

    halves: list[tuple[Admit, BucketCounts, HalfTimes]]
    skipped: list[BucketCounts]
    step: BucketCounts
    passed: int = 0  # writes that were not counted in ``skipped`` yet


class AdmissionStep:
    """``type``: "admit" or "validate", as in metrics. A half refuses by raising, which ends it."""

    def __init__(self, type_: str, halves: Sequence[PluginHalf], now: Callable[[], float]) -> None:
        self.type = type_
        self.step_times = HalfTimes("")
        self._halves = [(half, HalfTimes(half.name)) for half in halves]
        self._now = now
        self._choices: dict[tuple[str, str, str], _Choice] = {}

    async def run(self, attributes: Attributes) -> None:
        operation, resource = attributes.operation, attributes.resource
        key = (operation, resource.group, resource.plural)
        choice = self._choices.get(key) or self._choose(key)
        now = self._now
        begun = before = now()
        for admit, counts, times in choice.halves:
            try:
                if (pending := admit(attributes)) is not None:
                    await pending
            except Exception:
                at = now()
                times.add_refused(operation, at - before)
                self.step_times.add_refused(operation, at - begun)
                raise
            at = now()
            took_s, before = at - before, at
            if took_s <= counts.first:  # nearly always, and the call would cost more
                counts.lowest += 1
                counts.total += took_s
            else:
                counts.add(took_s)
        choice.step.add(before - begun)
        choice.passed += 1

    def half_times(self) -> Iterator[HalfTimes]:
        """Those of every half for the operation; one that is not for the resource is asked in no
        time, as Kubernetes counts it."""
        self._count_skipped()
        for _, times in self._halves:
            yield times

    def _choose(self, key: tuple[str, str, str]) -> _Choice:
        if len(self._choices) >= _CHOICES_MAX:
            self._count_skipped()
            self._choices.clear()
        operation, resource = key[0], GroupResource(*key[1:])
        choice = _Choice([], [], self.step_times.of_passed(operation))
        for half, times in self._halves:
            if half.operations is not None and operation not in half.operations:
                continue
            counts = times.of_passed(operation)
            if half.resources is None or resource in half.resources:
                choice.halves.append((half.admit, counts, times))
            else:
                choice.skipped.append(counts)
        self._choices[key] = choice
        return choice

    def _count_skipped(self) -> None:
        for choice in self._choices.values():
            passed, choice.passed = choice.passed, 0
            for counts in choice.skipped:
                counts.lowest += passed
