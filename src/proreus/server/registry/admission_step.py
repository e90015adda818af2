"""The mutating or the validating halves of all plugins in a row, and how long they take.

Cost: a write runs the halves that are for its operation, resource and subresource and not idle, and
reads the clock after each. What it read is counted in buckets later, for many writes at once.
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
    from proreus.server.resource import Resource

_BUCKETS_S = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)
_CHOICES_MAX = 4096  # operations × resources; those of removed definitions are forgotten with all
_UNCOUNTED_MAX = 16  # writes of each choice

# A plugin's half. One that has nothing to wait for returns None: most do, and a coroutine costs.
Admit = Callable[["Attributes"], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class WriteScope:
    """Which writes: ``operations``, ``resources``, ``subresources`` ("": the object itself); None:
    all."""

    operations: frozenset[str] | None = None
    resources: frozenset[GroupResource] | None = None
    subresources: frozenset[str] | None = None

    def includes(self, operation: str, resource: GroupResource, subresource: str) -> bool:
        return (
            (self.operations is None or operation in self.operations)
            and (self.resources is None or resource in self.resources)
            and (self.subresources is None or subresource in self.subresources)
        )


@dataclass(frozen=True, slots=True)
class PluginHalf:
    """Runs for writes in one of its ``scopes``. ``operations``: those whose times are counted,
    whatever the resource; None: all. ``is_idle``: whether it would do nothing, as nothing is
    configured; who says so calls ``AdmissionStep.choose_anew`` when that changes."""

    name: str
    admit: Admit
    scopes: tuple[WriteScope, ...] = (WriteScope(),)
    operations: frozenset[str] | None = None
    is_idle: Callable[[], bool] | None = None

    def is_for(self, operation: str, resource: GroupResource, subresource: str) -> bool:
        if self.is_idle is not None and self.is_idle():
            return False
        return any(scope.includes(operation, resource, subresource) for scope in self.scopes)


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
    uncounted_max: int = _UNCOUNTED_MAX
    is_configured: bool = False  # by users: one of the halves may be idle at other times
    unasked: int = 0  # writes, where there is no half to ask

    def count(self) -> None:
        operation, count = self.operation, len(self.uncounted)
        if count:
            marks = list(zip(*self.uncounted, strict=True))
            self.uncounted.clear()
            for times, begun, ended in zip(self.times, marks, marks[1:], strict=False):
                _add_all(times.of_passed(operation), list(map(sub, ended, begun)))
            _add_all(self.step.of_passed(operation), list(map(sub, marks[-1], marks[0])))
        elif self.unasked:
            count, self.unasked = self.unasked, 0
            self.step.of_passed(operation).lowest += count
        else:
            return
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
        self._is_configured = False
        self.choose_anew()

    def is_configured_for(self, operation: str, resource: Resource, subresource: str) -> bool:
        """Whether anything that users configure is asked."""
        if not self._is_configured:
            return False
        key = (operation, resource.group, resource.plural, subresource)
        return (self._choices.get(key) or self._choose(key)).is_configured

    async def run(self, attributes: Attributes) -> None:
        resource = attributes.resource
        key = (attributes.operation, resource.group, resource.plural, attributes.subresource)
        choice = self._choices.get(key) or self._choose(key)
        if not choice.admits:
            choice.unasked += 1
            return
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
        if len(choice.uncounted) >= choice.uncounted_max:
            choice.count()

    @property
    def step_times(self) -> HalfTimes:
        """Of all halves in a row."""
        self._count()
        return self._step_times

    def half_times(self) -> Iterator[HalfTimes]:
        """Those of every half for the operation; one that is not for the resource, or is idle, is
        asked in no time, as Kubernetes counts it."""
        self._count()
        for _, times in self._halves:
            yield times

    def choose_anew(self) -> None:
        """From the next write on: a half has become idle, or is no longer."""
        for choice in self._choices.values():
            choice.count()
            choice.uncounted_max = 1  # nobody counts what is still under way later
        self._choices.clear()
        idle = (half.is_idle for half, _ in self._halves if half.is_idle is not None)
        self._is_configured = not all(is_idle() for is_idle in idle)

    def _choose(self, key: tuple[str, str, str, str]) -> _Choice:
        if len(self._choices) >= _CHOICES_MAX:
            self.choose_anew()
        operation, resource, subresource = key[0], GroupResource(key[1], key[2]), key[3]
        choice = _Choice(operation, self._step_times)
        for half, times in self._halves:
            if half.operations is not None and operation not in half.operations:
                continue
            if half.is_for(operation, resource, subresource):
                choice.admits.append(half.admit)
                choice.times.append(times)
                choice.is_configured |= half.is_idle is not None
            else:
                choice.skipped.append(times)
        self._choices[key] = choice
        return choice

    def _count(self) -> None:
        for choice in self._choices.values():
            choice.count()
