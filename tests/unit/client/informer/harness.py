"""A running SharedInformer over a script, on a virtual clock, with handlers that write diaries."""

from __future__ import annotations

import contextlib
import random
from collections.abc import AsyncIterator

from proreus.api.object import KubeObject
from proreus.api.object_list import ObjectList
from proreus.client.informer import Notification, ReflectorConfig, SharedInformer, Transform
from proreus.testing.virtual_clock import VirtualClock
from tests.parts import running_part
from tests.unit.client.informer.scripted import ScriptedListWatch, Stream

LISTS = ReflectorConfig(stream_lists=False)


class Diary:
    """``on_notification`` that notes everything in words: ``add a 3 initial``."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def __call__(self, heard: Notification) -> None:
        versions = [o.resource_version for o in (heard.old, heard.new) if o is not None]
        words = [heard.change.value, heard.object.name, "→".join(versions)]
        words += ["initial"] if heard.is_initial else []
        words += ["resync"] if heard.is_resync else []
        words += [] if heard.final_state_known else ["guessed"]
        self.notes.append(" ".join(words))

    def read(self) -> list[str]:
        notes, self.notes = self.notes, []
        return notes


class Bench:
    def __init__(self, informer: SharedInformer, script: ScriptedListWatch, clock: VirtualClock):
        self.informer = informer
        self.script = script
        self.clock = clock

    async def settle(self) -> None:
        await self.clock.settle()


def informer_of(
    *answers: ObjectList | Stream | Exception,
    config: ReflectorConfig = LISTS,
    transform: Transform | None = None,
) -> Bench:
    clock, script = VirtualClock(), ScriptedListWatch(*answers)
    informer = SharedInformer(
        script,
        "pods",
        config=config,
        transform=transform,
        clock=clock,
        randomness=random.Random(7),
    )
    return Bench(informer, script, clock)


@contextlib.asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[Bench]:
    async with running_part(bench.informer.run()):
        await bench.settle()
        yield bench


def versions(objects: list[KubeObject]) -> dict[str, str]:
    return {obj.name: obj.resource_version for obj in objects}
