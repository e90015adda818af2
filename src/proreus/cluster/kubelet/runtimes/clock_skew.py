"""Statuses with times in the future, as after a clock was set back. Pure.

A machine's clock may be set back between two runs of a kubelet. Read as it is, a container that
started "in two hours" would be ready in two hours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from proreus.api.json_types import Json
from proreus.api.values.timestamp import format_time, parse_time

_CONTAINERS = ("initContainerStatuses", "containerStatuses")
_STATES = ("state", "lastState")
_STAMPS = ("startedAt", "finishedAt")


def without_future_times(status: Json, now: float) -> Json:
    """The status, with all its stamps moved back as far as the latest of them lies ahead."""
    ahead_s = max((parse_time(stamp) for stamp in _stamps(status)), default=now) - now
    if ahead_s <= 0:
        return status

    def moved(stamp: str) -> str:
        return format_time(parse_time(stamp) - ahead_s)

    changed = {
        field: [_container(container, moved) for container in status[field]]
        for field in _CONTAINERS
        if status.get(field)
    }
    begun = {"startTime": moved(status["startTime"])} if status.get("startTime") else {}
    return {**status, **begun, **changed}


def _stamps(status: Json) -> Iterator[str]:
    if status.get("startTime"):
        yield status["startTime"]
    for field in _CONTAINERS:
        for container in status.get(field) or ():
            for name in _STATES:
                for kind in (container.get(name) or {}).values():
                    yield from (kind[stamp] for stamp in _STAMPS if (kind or {}).get(stamp))


def _container(container: Json, moved: Callable[[str], str]) -> Json:
    states = {
        name: {
            kind: {key: moved(value) if key in _STAMPS and value else value for key, value in said}
            for kind, said in ((kind, (content or {}).items()) for kind, content in found.items())
        }
        for name in _STATES
        if (found := container.get(name))
    }
    return {**container, **states}
