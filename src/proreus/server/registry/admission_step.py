"""The mutating or the validating halves of all plugins in a row, and how long they take.

Cost: a write runs the halves that are for its operation, resource and subresource, and reads the
clock after each. What it read is counted in buckets later, for many writes at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import field
from operator import sub
from typing import TYPE_CHECKING

from proreus.api.group_version import GroupResource
from proreus.lazy_dataclass import dataclass
from proreus.server.histogram import BucketCounts

if TYPE_CHECKING:
    from proreus.server.registry.admission import Attributes

_BUCKETS_S = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)
_CHOICES_MAX = 4096  # operations × resources; those of removed definitions are forgotten with all
_UNCOUNTED_MAX = 16  # writes of each choice

# A plugin's half. One that has nothing to wait for returns None: most do, and a coroutine costs.
Admit = Callable[["Attributes"], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class PluginHalf:
    """What it is for: ``operations``, ``resources`` and ``subresources`` ("": the object itself);
    None: all."""

    name: str
    admit: Admit
    resources: frozenset[GroupResource] | None = None
    operations: frozenset[str] | None = None
    subresources: frozenset[str] | None = None

    def is_for(self, resource: GroupResource, subresource: str) -> bool:
        return (self.resources is None or resource in self.resources) and (
            self.subresources is None or subresource in self.subresources
        )


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

    operation: str
    step: HalfTimes
    admits: list[Admit] = field(default_factory=list)
    times: list[HalfTimes] = field(default_factory=list)
    skipped: list[HalfTimes] = field(default_factory=list)
    # Of each write that passed when it began and when each half ended.
    uncounted: list[list[float]] = field(default_factory=list)

    def count(self) -> None:
        if not self.uncounted:
            return
        operation, count = self.operation, len(self.uncounted)
        marks = list(zip(*self.uncounted, strict=True))
        self.uncounted.clear()
        for times, begun, ended in zip(self.times, marks, marks[1:], strict=False):
            _add_all(times.of_passed(operation), list(map(sub, ended, begun)))
        _add_all(self.step.of_passed(operation), list(map(sub, marks[-1], marks[0])))
        for times in self.skipped:
            times.of_passed(operation).lowest += count

    def count_refused(self, marks: list[float]) -> None:
        """The last half that ended is the one that refused."""
        *passed, refused = zip(self.times, marks, marks[1:], strict=False)
        for times, begun, ended in passed:
            times.of_passed(self.operation).add(ended - begun)
        times, begun, ended = refused
        times.add_refused(self.operation, ended - begun)
        self.step.add_refused(self.operation, ended - marks[0])


def _add_all(counts: BucketCounts, seconds: list[float]) -> None:
    if max(seconds) <= counts.first:  # nearly always
        counts.lowest += len(seconds)
        counts.total += sum(seconds)
    else:
        for value in seconds:
            counts.add(value)


class AdmissionStep:
    """``type``: "admit" or "validate", as in metrics. A half refuses by raising, which ends it."""

    def __init__(self, type_: str, halves: Sequence[PluginHalf], now: Callable[[], float]) -> None:
        self.type = type_
        self._step_times = HalfTimes("")
        self._halves = [(half, HalfTimes(half.name)) for half in halves]
        self._now = now
        self._choices: dict[tuple[str, str, str, str], _Choice] = {}

    async def run(self, attributes: Attributes) -> None:
        resource = attributes.resource
        key = (attributes.operation, resource.group, resource.plural, attributes.subresource)
        choice = self._choices.get(key) or self._choose(key)
        now = self._now
        marks = [now()]
        try:
            for admit in choice.admits:
                if (pending := admit(attributes)) is not None:
                    await pending
                marks.append(now())
        except Exception:
            marks.append(now())
            choice.count_refused(marks)
            raise
        choice.uncounted.append(marks)
        if len(choice.uncounted) >= _UNCOUNTED_MAX:
            choice.count()

    @property
    def step_times(self) -> HalfTimes:
        """Of all halves in a row."""
        self._count()
        return self._step_times

    def half_times(self) -> Iterator[HalfTimes]:
        """Those of every half for the operation; one that is not for the resource is asked in no
        time, as Kubernetes counts it."""
        self._count()
        for _, times in self._halves:
            yield times

    def _choose(self, key: tuple[str, str, str, str]) -> _Choice:
        if len(self._choices) >= _CHOICES_MAX:
            self._count()
            self._choices.clear()
        operation, resource, subresource = key[0], GroupResource(key[1], key[2]), key[3]
        choice = _Choice(operation, self._step_times)
        for half, times in self._halves:
            if half.operations is not None and operation not in half.operations:
                continue
            if half.is_for(resource, subresource):
                choice.admits.append(half.admit)
                choice.times.append(times)
            else:
                choice.skipped.append(times)
        self._choices[key] = choice
        return choice

    def _count(self) -> None:
        for choice in self._choices.values():
            choice.count()
