"""Processes that nobody looks after any more: found and killed.

They are known by two marks: the record of their group, with the start time that tells a process
from a later one of the same number; and the variable ``PROREUS_ROOT`` in their environment, which
follows them into sessions of their own.
"""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proreus.api.wire import json
from proreus.cluster.kubelet.runtimes.process.guard import kill_where

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """``pid`` is the group's number too. ``boot``: of which life of the machine."""

    pid: int
    started: int
    boot: str

    def write(self, path: Path) -> None:
        content = {"pid": self.pid, "startTime": self.started, "bootId": self.boot}
        path.write_bytes(json.encode(content))

    @classmethod
    def read(cls, path: Path) -> GroupRecord | None:
        try:
            content: Any = json.decode(path.read_bytes())
            return cls(int(content["pid"]), int(content["startTime"]), str(content["bootId"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None


def record_of(pid: int) -> GroupRecord:
    return GroupRecord(pid, start_time(pid) or 0, _boot())


def start_time(pid: int) -> int | None:
    """In clock ticks since the machine started; None: no such process."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except (OSError, UnicodeDecodeError):
        return None
    return int(stat.rpartition(")")[2].split()[19])


def kill_recorded(record: GroupRecord) -> bool:
    """Whether any process of the group was there. A group outlives its leader under its number, so
    a number without a leader is still ours, and one with another leader is not."""
    if record.boot != _boot() or record.pid <= 1:
        return False
    found = start_time(record.pid)
    if found is not None and found != record.started:
        return False
    try:
        os.killpg(record.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


class Sweep:
    """Looks through all processes of the machine, once for everybody who asks meanwhile."""

    def __init__(self) -> None:
        self._wanted: set[bytes] = set()
        self._turn = asyncio.Semaphore(1)

    async def clear(self, root: Path) -> None:
        """Kill every process whose root this is."""
        mark = os.fsencode(root)
        self._wanted.add(mark)
        async with self._turn:
            if mark not in self._wanted:
                return  # another's look was ours too
            wanted, self._wanted = frozenset(self._wanted), set()
            # Half a look would leave the others' processes: it goes on when its caller is gone.
            await asyncio.shield(asyncio.to_thread(kill_where, wanted.__contains__))


def _boot() -> str:
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
