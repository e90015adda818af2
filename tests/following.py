"""Collections as the server has them: waits for a condition on all objects, and every change that
was made to them, in the order of the server.

An informer is neither: it is behind, and it merges changes of different objects as it likes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias

from proreus.api.object import KubeObject
from proreus.api.object_list import ObjectList
from proreus.client.resources.resource_client import ResourceClient

TIMEOUT_S = 60.0
Change: TypeAlias = tuple[KubeObject | None, KubeObject | None]
"""An object before and after: None where it was not there."""


async def wait_for_list(
    resource: ResourceClient,
    holds: Callable[[list[KubeObject]], object],
    *,
    label_selector: str = "",
    timeout_s: float = TIMEOUT_S,
) -> list[KubeObject]:
    """Until the objects, in no order, are as they should be; asked again on each change of one."""
    last: list[KubeObject] = []
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                listed = await resource.list(label_selector=label_selector)
                state = {(obj.namespace, obj.name): obj for obj in listed.items}
                if holds(last := list(state.values())):
                    return last
                version = listed.resource_version
                async with resource.watch(
                    resource_version=version, label_selector=label_selector
                ) as events:
                    async for event in events:
                        if event.type == "BOOKMARK":
                            continue
                        state.pop((event.object.namespace, event.object.name), None)
                        if event.type != "DELETED":
                            state[event.object.namespace, event.object.name] = event.object
                        if holds(last := list(state.values())):
                            return last
    except TimeoutError as late:
        raise AssertionError(f"not as waited for in {timeout_s:g} s; last seen: {last}") from late


async def changes_since(resource: ResourceClient, start: ObjectList, until: str) -> list[Change]:
    """What happened to the objects after ``start`` was listed, up to the change that has the
    resource version ``until``, which is left out."""
    state: dict[str, KubeObject] = {obj.uid: obj for obj in start.items}
    found: list[Change] = []
    async with (
        asyncio.timeout(TIMEOUT_S),
        resource.watch(resource_version=start.resource_version) as events,
    ):
        async for event in events:
            obj = event.object
            if obj.resource_version == until:
                return found
            if event.type == "DELETED":
                found.append((state.pop(obj.uid, obj), None))
            elif event.type != "BOOKMARK":
                found.append((state.get(obj.uid), obj))
                state[obj.uid] = obj
    raise AssertionError("the watch ended before the last change")
