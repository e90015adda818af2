"""Wait until an object is as it should be: watch based, surviving whatever happens to watches.

The end of a stream is never taken for the end of waiting; only the condition or the deadline is.
"""

from __future__ import annotations

from collections.abc import Callable

from proreus.aio.backoff import Backoff
from proreus.aio.clock import Clock, deadline
from proreus.api.object import KubeObject
from proreus.api.status import ApiError, Expired, InternalError, TooManyRequests
from proreus.api.wire import framing
from proreus.client.resources.list_watch import ResourceListWatch
from proreus.client.rest.request import InvalidRequest
from proreus.net.transport_error import TransportError

Condition = Callable[[KubeObject | None], bool]
_WATCH_TIMEOUT_S = 300


class ConditionNotMet(TimeoutError):
    """The deadline passed. ``last`` is the object as it was then, None if there was none."""

    def __init__(self, name: str, timeout_s: float, last: KubeObject | None) -> None:
        super().__init__(
            f"{name} did not become as waited for in {timeout_s:g} s; last seen: {last or 'absent'}"
        )
        self.last = last


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
    selected: ResourceListWatch,
    name: str,
    condition: Condition,
    *,
    timeout_s: float,
    clock: Clock,
) -> KubeObject | None:
    """The object that met the condition (None if its absence did). ``selected`` selects only it."""
    waiting = _Waiting(selected, condition, Backoff(clock), clock)
    try:
        async with deadline(clock, timeout_s):
            return await waiting.run()
    except TimeoutError as late:
        raise ConditionNotMet(name, timeout_s, waiting.last) from late


class _Waiting:
    def __init__(
        self, selected: ResourceListWatch, condition: Condition, backoff: Backoff, clock: Clock
    ) -> None:
        self._selected = selected
        self._condition = condition
        self._backoff = backoff
        self._clock = clock
        self._version = ""
        self.last: KubeObject | None = None

    async def run(self) -> KubeObject | None:
        while True:
            try:
                if await self._is_met():
                    return self.last
            except (Expired, InternalError):
                self._version = ""
            except TooManyRequests as busy:
                await self._clock.sleep(busy.retry_after_s)
            except TransportError:
                pass  # the next round says whether the server is back
            except ApiError as problem:
                if problem.code < 500:
                    raise
                self._version = ""
            else:
                continue  # the server ended the watch in good order: go on where it stopped
            await self._clock.sleep(self._backoff.next())

    async def _is_met(self) -> bool:
        if not self._version:
            found = await self._selected.list(resource_version="", limit=0, continue_token="")
            self._version = found.resource_version
            self.last = found.items[0] if found.items else None
            if self._condition(self.last):
                return True
        async with self._selected.watch(
            resource_version=self._version, timeout_s=_WATCH_TIMEOUT_S
        ) as events:
            async for event in events:
                self._version = event.object.resource_version
                match event.type:
                    case framing.BOOKMARK:
                        continue
                    case framing.DELETED:
                        self.last = None
                    case _:
                        self.last = event.object
                if self._condition(self.last):
                    return True
        return False
