"""Processes of this machine, as tests wait for them."""

from __future__ import annotations

import asyncio
import os


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
