"""A program in a process of its own beside a test, of any language: it gets a kubeconfig.

    async def test_a_controller(path):
        async with running_program("./controller.sh", kubeconfig=path) as program:
            ...
        print(program.output)

It is ended with the test: by SIGTERM, and by SIGKILL if it does not end.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

_GRACE_S = 10.0
_OUTPUT_MAX = 1024 * 1024


class RunningProgram:
    """``output``: what it has said so far, on both streams; of a megabyte the end."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._said = bytearray()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def output(self) -> str:
        return self._said.decode(errors="replace")

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.returncode

    @property
    def held_up_s(self) -> float:
        """For how long its threads, and those of what it started, were able to run and had no
        processor; where a kernel does not tell, 0."""
        return sum(map(_held_up_s, _tree(self.pid)))

    def kill(self) -> None:
        """At once: a crash."""
        self._signal(signal.SIGKILL)

    def freeze(self) -> None:
        """It stands still, as on a machine that swaps, until ``resume``."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    async def wait(self) -> int:
        """Until it ends by itself; the caller sets the deadline."""
        return await self._process.wait()

    async def end(self) -> None:
        self._signal(signal.SIGTERM)
        self.resume()  # a frozen one does not notice
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                await self._process.wait()
        self._signal(signal.SIGKILL)  # what it started, too
        await self._process.wait()

    async def listen(self) -> None:
        assert self._process.stdout is not None, "it was asked for"
        while piece := await self._process.stdout.read(65536):
            self._said += piece
            del self._said[:-_OUTPUT_MAX]

    def _signal(self, number: int) -> None:
        # The group, whose leader the program is: a shell's children end with it.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in children.read_text().split():
                yield from _tree(int(child))


def _held_up_s(pid: int) -> float:
    """Of the process's threads that live."""
    waited_ns = 0
    for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(OSError, IndexError):
            waited_ns += int(thread.read_text().split()[1])
    return waited_ns / 1e9


@asynccontextmanager
async def running_program(
    *command: str | Path,
    kubeconfig: Path | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> AsyncIterator[RunningProgram]:
    """``env``: beside the test's own environment, in which KUBECONFIG is ``kubeconfig``. What it
    caches of discovery is kept beside that file: other servers have had this port."""
    environment = dict(os.environ)
    if kubeconfig is not None:
        environment["KUBECONFIG"] = str(kubeconfig)
        environment["KUBECACHEDIR"] = str(kubeconfig.parent / "cache")
    environment.update(env or {})
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=environment,
        cwd=cwd,
        start_new_session=True,
    )
    program = RunningProgram(process)
    async with asyncio.TaskGroup() as beside:
        beside.create_task(program.listen())
        try:
            yield program
        finally:
            await program.end()
