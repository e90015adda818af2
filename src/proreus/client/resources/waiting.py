"""Wait until an object is as it should be: watch based, surviving whatever happens to watches.

A reflector follows the object, so streams are resumed, paced and replaced as an informer's are.
Only the condition, the deadline and a refusal of the server end the waiting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proreus.aio.clock import Clock, deadline
from proreus.api.jsonpath import JsonPath, PathError
from proreus.api.object import KubeObject
from proreus.client.rest.request import InvalidRequest

if TYPE_CHECKING:
    from proreus.client.reflector import ListWatch

Condition = Callable[[KubeObject], bool]
State = KubeObject | None


class ConditionNotMet(TimeoutError):
    """The deadline passed. ``last`` is the object as it was then, None if there was none.
    ``reason`` is the last failure to look at it, if there was one."""

    def __init__(self, name: str, timeout_s: float, last: State, reason: str = "") -> None:
        trouble = f"; last failure: {reason}" if reason else ""
        super().__init__(
            f"{name} did not become as waited for in {timeout_s:g} s; "
            f"last seen: {last or 'absent'}{trouble}"
        )
        self.last = last
        self.reason = reason


def condition_from(text: str) -> Condition:
    """As kubectl spells them: ``condition=Ready``, ``condition=Ready=False``, ``create``,
    ``jsonpath={.status.phase}=Running``, ``jsonpath={.status.podIP}`` (any value)."""
    if text.startswith("jsonpath="):
        return _path_condition(text)
    match text.split("="):
        case ["create"]:
            return lambda obj: True
        case ["condition", kind]:
            return lambda obj: has_condition(obj, kind, "True")
        case ["condition", kind, status]:
            return lambda obj: has_condition(obj, kind, status)
        case ["delete"]:
            raise InvalidRequest("a deletion is waited for with wait_deleted(name)")
        case _:
            raise InvalidRequest(
                f"cannot wait for {text!r}: it is not create, condition=NAME[=STATUS] or "
                "jsonpath={PATH}[=VALUE]"
            )


def _path_condition(text: str) -> Condition:
    """Met if the path has one value, and that is the wanted one, if one is named."""
    spelled = text.removeprefix("jsonpath=").strip("'\"")
    path_text, brace, rest = spelled.removeprefix("{").partition("}")
    wanted = rest.lstrip("'\"").removeprefix("=") if rest else None
    if not spelled.startswith("{") or not brace or (rest and "=" not in rest) or wanted == "":
        raise InvalidRequest(f"cannot wait for {text!r}: it is not jsonpath={{PATH}}[=VALUE]")
    try:
        path = JsonPath(path_text)
    except PathError as problem:
        raise InvalidRequest(f"cannot wait for {text!r}: {problem}") from problem

    def is_met(obj: KubeObject) -> bool:
        found = list(path.find(obj.to_dict()))
        if len(found) != 1 or isinstance(found[0], (dict, list)):
            return False
        return wanted is None or _spelled(found[0]) == wanted

    return is_met


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def has_condition(obj: State, kind: str, status: str) -> bool:
    """Whether ``status.conditions`` says so, about the present generation if it names one."""
    if obj is None:
        return False
    generation = obj.metadata.generation
    for condition in (obj.get("status") or {}).get("conditions") or ():  # not all kinds have them
        if str(condition.get("type")).lower() == kind.lower():
            observed = condition.get("observedGeneration")
            is_current = observed is None or generation is None or observed >= generation
            return is_current and str(condition.get("status")).lower() == status.lower()
    return False


@dataclass(frozen=True, slots=True)
class Wait:
    """How one object is waited for. ``selected`` selects only it."""

    selected: ListWatch
    name: str
    timeout_s: float
    clock: Clock

    async def for_condition(self, condition: Condition) -> KubeObject:
        """The object that met the condition. Raises what the condition raises, what the server
        will go on to refuse, and ConditionNotMet."""
        met = await self._until(lambda state: state is not None and condition(state))
        assert met is not None, "only an object meets a condition"
        return met

    async def for_deletion(self, uid: str) -> None:
        """Until it is absent, or another has its name."""
        await self._until(lambda state: state is None or bool(uid and state.uid != uid))

    async def _until(self, is_met: Callable[[State], bool]) -> State:
        # Loaded by those who wait: the client itself does not need it.
        from proreus.client.reflector import Reflector, ReflectorConfig
        from proreus.client.resources.event_stream import is_final

        observed = _Observed(is_met)
        # What a cache of the server says may be older than what the caller has just done.
        config = ReflectorConfig(stream_lists=False, begins_newest=True)
        reflector = Reflector(
            self.selected,
            observed,
            name=self.name,
            config=config,
            clock=self.clock,
            is_final=is_final,
        )
        try:
            async with deadline(self.clock, self.timeout_s):
                await reflector.run()
        except _Decided as decided:
            if decided.failure is not None:
                raise decided.failure from None
            return observed.last
        except TimeoutError as late:
            why = reflector.statistics.last_failure
            raise ConditionNotMet(self.name, self.timeout_s, observed.last, why) from late
        raise AssertionError("a reflector ends only by an exception")


class _Decided(Exception):
    """The condition is met, or it has raised ``failure``."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure


class _Observed:
    """A reflector's sink for one object, which checks the condition on each state of it."""

    is_full = False

    def __init__(self, is_met: Callable[[State], bool]) -> None:
        self._is_met = is_met
        self.last: State = None

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

    def _observe(self, state: State) -> None:
        self.last = state
        try:
            is_met = self._is_met(state)
        except Exception as failure:
            raise _Decided(failure) from failure
        if is_met:
            raise _Decided
