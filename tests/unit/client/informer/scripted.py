"""A ListWatch that answers from a script and remembers what it was asked."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass

from proreus.api.object import KubeObject
from proreus.api.object_list import ObjectList
from proreus.api.wire.framing import WatchEvent
from proreus.client.rest.calls import ListCall, WatchCall

END = "k8s.io/initial-events-end"


def pod(
    name: str, version: int | str, *, uid: str = "", namespace: str = "default", **labels: str
) -> KubeObject:
    return KubeObject.from_dict(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": uid or f"uid-{name}",
                "resourceVersion": str(version),
                "labels": labels,
            },
            "spec": {"nodeName": labels.get("node", "")},
        }
    )


def added(name: str, version: int) -> WatchEvent:
    return WatchEvent("ADDED", pod(name, version))


def modified(name: str, version: int) -> WatchEvent:
    return WatchEvent("MODIFIED", pod(name, version))


def deleted(name: str, version: int) -> WatchEvent:
    return WatchEvent("DELETED", pod(name, version))


def bookmark(version: int, *, end: bool = False) -> WatchEvent:
    metadata = {"resourceVersion": str(version), "annotations": {END: "true"} if end else {}}
    return WatchEvent(
        "BOOKMARK",
        KubeObject.from_dict({"kind": "Pod", "apiVersion": "v1", "metadata": metadata}),
    )


def page(*objects: KubeObject, version: int | str, token: str = "") -> ObjectList:
    return ObjectList(list(objects), str(version), token, api_version="v1", kind="PodList")


@dataclass(frozen=True)
class Asked:
    """One request, in few words: ``Asked("watch", "7")``."""

    verb: str
    resource_version: str
    limit: int = 0
    token: str = ""


class Stream:
    """An open watch in the test's hand."""

    def __init__(self, *events: WatchEvent) -> None:
        self._items: asyncio.Queue[WatchEvent | Exception | None] = asyncio.Queue()
        self.send(*events)
        self.is_released = False

    def send(self, *events: WatchEvent) -> Stream:
        for event in events:
            self._items.put_nowait(event)
        return self

    def close(self) -> Stream:
        self._items.put_nowait(None)
        return self

    def fail(self, error: Exception) -> Stream:
        self._items.put_nowait(error)
        return self

    async def events(self) -> AsyncIterator[WatchEvent]:
        while (item := await self._items.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item


class ScriptedListWatch:
    """Answers requests in order; when the script has ended, nobody answers any more."""

    def __init__(self, *answers: ObjectList | Stream | Exception) -> None:
        self._answers = deque(answers)
        self.asked: list[Asked] = []
        self.timeouts: list[int] = []
        self.bookmarks: list[bool] = []

    def then(self, *answers: ObjectList | Stream | Exception) -> None:
        self._answers.extend(answers)

    async def list(self, asked: ListCall) -> ObjectList:
        self.asked.append(Asked("list", asked.resource_version, asked.limit, asked.continue_token))
        answer = await self._answer()
        assert isinstance(answer, ObjectList), f"the script has {answer!r} for a list"
        return answer

    @contextlib.asynccontextmanager
    async def watch(self, asked: WatchCall) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        verb = "watch-list" if asked.send_initial_events else "watch"
        self.asked.append(Asked(verb, asked.resource_version))
        self.timeouts.append(asked.timeout_s)
        self.bookmarks.append(asked.allow_bookmarks)
        answer = await self._answer()
        assert isinstance(answer, Stream), f"the script has {answer!r} for a watch"
        events = answer.events()
        try:
            yield events
        finally:
            answer.is_released = True
            await events.aclose()  # type: ignore[attr-defined]  # it is a generator

    async def _answer(self) -> ObjectList | Stream:
        if not self._answers:
            await asyncio.Event().wait()
        answer = self._answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer
