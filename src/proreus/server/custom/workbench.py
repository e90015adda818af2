"""Threads for judgements that would hold up the loop: large definitions, expensive rules.

Work waits for its turn here and not on the loop. There is one thread for definitions and one for
objects, so that the loop keeps its share of the interpreter however much is asked for, and an
object that takes long holds up no definition.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


class Workbench:
    """Its thread starts with the first work. Who owns it closes it."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    async def run(self, work: Callable[[], T]) -> T:
        """The outcome of work that nobody else touches meanwhile. Given up, it still ends."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def close(self) -> None:
        """What has not begun is dropped."""
        self._thread.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class Workbenches:
    definitions: Workbench
    objects: Workbench


@contextmanager
def open_workbenches() -> Iterator[Workbenches]:
    benches = Workbenches(Workbench("judge definitions"), Workbench("judge custom objects"))
    try:
        yield benches
    finally:
        benches.definitions.close()
        benches.objects.close()
