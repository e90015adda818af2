"""Processes of this machine, as tests wait for them."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping


async def wait_gone(pid: int) -> None:
    """Until a process has ended, whoever's it is, reaped or not."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(pidfd, ended.set)
    try:
        async with asyncio.timeout(60):
            await ended.wait()
    finally:
        loop.remove_reader(pidfd)
        os.close(pidfd)


@contextlib.asynccontextmanager
async def running_program(
    *command: str, env: Mapping[str, str]
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A program while the body runs, killed at the end if it still does."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=pipe, env=env
    )
    try:
        async with asyncio.timeout(60):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
