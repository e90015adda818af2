"""Futures in line: who waited longest is woken first."""

from __future__ import annotations

import asyncio
from collections import deque


def wake_first(waiters: deque[asyncio.Future[None]]) -> None:
    """Wake the first that still waits; those that were cancelled leave the line."""
    while waiters:
        first = waiters.popleft()
        if not first.done():
            first.set_result(None)
            return
