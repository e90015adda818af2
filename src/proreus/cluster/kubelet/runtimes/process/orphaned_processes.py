"""Orphaned processes of containers: found and killed.

They are known by three things: the record of their group, with the start time that tells a process
from a later one of the same number; the variable ``PROREUS_ROOT`` in their environment, which
follows them into sessions of their own; and their mark (``marks``), which they keep when the
environment is emptied.
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
from proreus.cluster.kubelet.runtimes.process.marks import UNMARKED
from proreus.cluster.untrusted_files import read_regular, write_record

_PROC = Path("/proc")
_RECORD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """``pid`` is the group's number too. ``boot``: of which life of the machine."""

    pid: int
    started: int
    boot: str

    def write(self, path: Path) -> None:
        content = {"pid": self.pid, "startTime": self.started, "bootId": self.boot}
        write_record(path, json.encode(content))

    @classmethod
    def read(cls, path: Path) -> GroupRecord | None:
        try:
            content: Any = json.decode(read_regular(path, _RECORD_BYTES))
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


def kill_group(record: GroupRecord) -> bool:
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


class ProcessSweep:
    """Scans all processes of the machine, once for all callers that wait meanwhile."""

    def __init__(self) -> None:
        self._wanted: set[tuple[bytes, int]] = set()
        self._turn = asyncio.Semaphore(1)

    async def clear(self, root: Path, mark: int) -> None:
        """Kill every process whose root or whose mark this is."""
        ours = (os.fsencode(root), mark)
        self._wanted.add(ours)
        async with self._turn:
            if ours not in self._wanted:
                return  # another caller's scan covered this one
            roots = frozenset(root for root, _ in self._wanted)
            marks = frozenset(mark for _, mark in self._wanted) - {UNMARKED}
            self._wanted = set()
            # Other callers rely on the scan: it goes on when its caller is cancelled.
            scan = asyncio.to_thread(kill_where, roots.__contains__, marks.__contains__)
            await asyncio.shield(scan)


def _boot() -> str:
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
