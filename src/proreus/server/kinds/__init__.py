"""The built-in kinds, each in one place: ``<group>/<kind>`` declares all of it.

Every module (of a large kind: package) directly in a group is a kind and has ``RESOURCES``, one per
served version. Kinds are found by walking the groups, so adding one is adding its module. What
several kinds share is in ``parts``, which is no group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules

from proreus.server.kinds.parts.empty_status import with_empty_status
from proreus.server.resource import Resource
from proreus.server.schema.definitions import Definitions

_PARTS = "parts"


def builtin_resources(*, event_ttl_s: float | None = None) -> list[Resource]:
    """Every built-in resource. ``event_ttl_s``: how long events are kept, if it shall not be what
    Kubernetes does."""
    return list(_builtin(tuple(__path__), event_ttl_s))


@lru_cache(maxsize=4)
def _builtin(folders: tuple[str, ...], ttl_s: float | None) -> tuple[Resource, ...]:
    """Resources are values: the servers of a process share them."""
    return tuple(_completed(resource, ttl_s) for resource in _declared(folders))


def _declared(folders: Iterable[str]) -> Iterator[Resource]:
    for group in iter_modules(folders, f"{__name__}."):
        if group.name.rpartition(".")[2] == _PARTS:
            continue
        package = import_module(group.name)
        for kind in iter_modules(package.__path__, f"{group.name}."):
            yield from import_module(kind.name).RESOURCES


def _completed(resource: Resource, ttl_s: float | None) -> Resource:
    if resource.definitions:
        Definitions.load().add(resource.definitions)
    kept = resource.persistence
    if ttl_s and kept.ttl_s:
        kept = replace(kept, ttl_s=ttl_s)
    rules = with_empty_status(resource.stored_gvk, resource.rules)
    return replace(resource, rules=rules, persistence=kept)
