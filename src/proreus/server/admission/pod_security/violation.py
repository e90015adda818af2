"""What a check finds, and the words that all checks share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from proreus.api.json_types import Json


class Violation(NamedTuple):
    """``detail`` says which part of the pod it is."""

    reason: str
    detail: str


class Pod(NamedTuple):
    """What is checked: a pod, or the template of one."""

    metadata: Json
    spec: Json

    @property
    def security(self) -> Json:
        return self.spec.get("securityContext") or {}

    @property
    def annotations(self) -> Json:
        return self.metadata.get("annotations") or {}

    @property
    def is_windows(self) -> bool:
        return (self.spec.get("os") or {}).get("name") == "windows"

    @property
    def has_own_users(self) -> bool:
        """Root in the pod is nobody on the node."""
        return self.spec.get("hostUsers") is False

    def containers(self) -> Iterator[CheckedContainer]:
        for key in ("initContainers", "containers", "ephemeralContainers"):
            for one in self.spec.get(key) or ():
                yield CheckedContainer(one.get("name") or "", one, one.get("securityContext") or {})


class CheckedContainer(NamedTuple):
    name: str
    spec: Json
    security: Json


Check = Callable[[Pod], Violation | None]


def quoted(items: Iterable[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)


def counted(word: str, items: Sequence[Any]) -> str:
    return word if len(items) == 1 else f"{word}s"


def containers_named(names: Sequence[str]) -> str:
    return f"{counted('container', names)} {quoted(names)}"


def names_where(pod: Pod, holds: Callable[[CheckedContainer], bool]) -> list[str]:
    return [container.name for container in pod.containers() if holds(container)]


def containers_with(
    pod: Pod, values: Callable[[CheckedContainer], Iterable[str]]
) -> tuple[list[str], list[str]]:
    """The names of containers that have any of the values, and all these values in order."""
    names: list[str] = []
    found: set[str] = set()
    for container in pod.containers():
        if given := set(values(container)):
            names.append(container.name)
            found |= given
    return names, sorted(found)


def setters_where(pod: Pod, holds: Callable[[Json], bool]) -> str:
    """Whose security context it holds for: the pod's, containers', or both. "" if nobody's."""
    parts = ["pod"] if holds(pod.security) else []
    if names := names_where(pod, lambda c: holds(c.security)):
        parts.append(containers_named(names))
    return " and ".join(parts)


def profile_setters(pod: Pod, field: str) -> tuple[str, list[str]]:
    """Who set a profile of a type that no level allows, and these types in order."""
    kinds: set[str] = set()

    def is_bad(security: Json) -> bool:
        profile = security.get(field)
        if profile is None or profile.get("type") in ("RuntimeDefault", "Localhost"):
            return False
        kinds.add(profile.get("type") or "")
        return True

    return setters_where(pod, is_bad), sorted(kinds)


def added_capabilities(pod: Pod, allowed: frozenset[str]) -> str:
    """What is wrong with those that containers add, "" if nothing is."""

    def forbidden(container: CheckedContainer) -> Iterator[str]:
        asked = (container.security.get("capabilities") or {}).get("add") or ()
        return (name for name in asked if name not in allowed)

    names, added = containers_with(pod, forbidden)
    if not names:
        return ""
    where = "securityContext.capabilities.add"
    return f"{containers_named(names)} must not include {quoted(added)} in {where}"
