"""Wait until an object is as it should be: watch based, surviving whatever happens to watches.

A reflector follows the object, so streams are resumed, paced and replaced as an informer's are.
Only the condition, the deadline and a refusal of the server end the waiting.
"""

from __future__ import annotations

from collections.abc import Callable

from proreus.aio.clock import Clock, deadline
from proreus.api.object import KubeObject
from proreus.api.status import ApiError, Expired, TooManyRequests
from proreus.client.resources.list_watch import ResourceListWatch
from proreus.client.rest.request import InvalidRequest
from proreus.net.client.transport_error import TransportError

Condition = Callable[[KubeObject | None], bool]


class ConditionNotMet(TimeoutError):
    """The deadline passed. ``last`` is the object as it was then, None if there was none.
    ``reason`` is the last failure to look at it, if there was one."""

    def __init__(
        self, name: str, timeout_s: float, last: KubeObject | None, reason: str = ""
    ) -> None:
        trouble = f"; last failure: {reason}" if reason else ""
        super().__init__(
            f"{name} did not become as waited for in {timeout_s:g} s; "
            f"last seen: {last or 'absent'}{trouble}"
        )
        self.last = last
        self.reason = reason


def condition_from(text: str) -> Condition:
    """As kubectl spells them: ``condition=Ready``, ``condition=Ready=False``, ``create``,
    ``delete``."""
    match text.split("="):
        case ["delete"]:
            return lambda obj: obj is None
        case ["create"]:
            return lambda obj: obj is not None
        case ["condition", kind]:
            return lambda obj: has_condition(obj, kind, "True")
        case ["condition", kind, status]:
            return lambda obj: has_condition(obj, kind, status)
        case _:
            raise InvalidRequest(
                f"cannot wait for {text!r}: it is not create, delete or condition=NAME[=STATUS]"
            )


def has_condition(obj: KubeObject | None, kind: str, status: str) -> bool:
    """Whether ``status.conditions`` says so, about the present generation if it names one."""
    if obj is None or obj.status is None:
        return False
    generation = obj.metadata.generation
    for condition in obj.status.conditions or ():
        if condition.type is not None and condition.type.lower() == kind.lower():
            observed = condition.observedGeneration
            is_current = observed is None or generation is None or observed >= generation
            return is_current and str(condition.status).lower() == status.lower()
    return False


async def wait_for(
    selected: ResourceListWatch, name: str, condition: Condition, *, timeout_s: float, clock: Clock
) -> KubeObject | None:
    """The object that met the condition (None if its absence did). ``selected`` selects only it.

    Raises what the condition raises, what the server will go on to refuse, and ConditionNotMet.
    """
    # Loaded by those who wait: the client itself does not need it.
    from proreus.client.reflector import Reflector, ReflectorConfig

    observed = _Observed(condition)
    # What a cache of the server says may be older than what the caller has just done.
    config = ReflectorConfig(stream_lists=False, begins_newest=True)
    reflector = Reflector(
        selected, observed, name=name, config=config, clock=clock, is_final=_is_final
    )
    try:
        async with deadline(clock, timeout_s):
            await reflector.run()
    except _Decided as decided:
        if decided.failure is not None:
            raise decided.failure from None
        return observed.last
    except TimeoutError as late:
        why = reflector.statistics.last_failure
        raise ConditionNotMet(name, timeout_s, observed.last, why) from late
    raise AssertionError("a reflector ends only by an exception")


class _Decided(Exception):
    """The condition is met, or it has raised ``failure``."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure


class _Observed:
    """A reflector's sink for one object, which checks the condition on each state of it."""

    is_full = False

    def __init__(self, condition: Condition) -> None:
        self._condition = condition
        self.last: KubeObject | None = None

    def replace(self, objects: list[KubeObject], resource_version: str) -> None:
        self._observe(objects[0] if objects else None)

    def add(self, obj: KubeObject) -> None:
        self._observe(obj)

    def update(self, obj: KubeObject) -> None:
        self._observe(obj)

    def delete(self, obj: KubeObject) -> None:
        self._observe(None)

    def bookmark(self, resource_version: str) -> None:
        """The object is as it was."""

    async def wait_room(self) -> None:
        """Nothing is kept."""

    def _observe(self, state: KubeObject | None) -> None:
        self.last = state
        try:
            is_met = self._condition(state)
        except Exception as failure:
            raise _Decided(failure) from failure
        if is_met:
            raise _Decided


def _is_final(failure: ApiError | TransportError) -> bool:
    """What asking again will not change; an expired version and a busy server are none of it."""
    passing = isinstance(failure, TransportError | Expired | TooManyRequests)
    return not passing and isinstance(failure, ApiError) and failure.code < 500
