"""Settings of malloc, the garbage collector, open files and priority for a command's process.

Only commands call this: in somebody's test or application it is not ours to change.

Sockets are read, and pieces of lists made, in buffers of up to 256 kB. The C library would map and
unmap each in the kernel; up to a megabyte it keeps them. Larger ones still go back at once.

Parts of a cluster hold the caches of whole clusters, and the collector would walk them over and
over: a fifth of the CPU of a rollout of 1,500 pods, in pauses of up to a second. It finds next to
nothing there, so it is asked more seldom. A server alone keeps bytes, which it does not walk, and
gains a few percent.

Where there are fewer cores than processes, the server is what the others wait for: each moment it
waits for a core behind one of its clients is a moment for all. 1,000 pods on 100 nodes and two
cores were available in 0.60 to 0.62 s per second of CPU, where it was 0.65 to 0.83.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from contextlib import suppress

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # mallopt's names for them
_MAPPED_BYTES_MIN = 1024 * 1024
_TRIM_BYTES = 4 * 1024 * 1024
# Three times less of a core than the server, where both want it. With 10 it would be ten times,
# for little more, and other programs of the machine would hold nodes up as much.
_CLIENT_NICENESS = 5
_COLLECTED_AFTER = (20_000, 20, 50)  # as gc.set_threshold takes them; Python's own: 700, 10, 10


def collect_seldom() -> None:
    gc.set_threshold(*_COLLECTED_AFTER)


def allow_many_files() -> None:
    """As many as this process may have: a watch is a connection, and each node has some."""
    try:
        import resource
    except ImportError:  # no such limit on this system
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # some systems announce more than they give
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def keep_small_buffers() -> None:
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # other C libraries do well by themselves
        mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES_MIN)
        mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)


def yield_to_server() -> None:
    """The server goes first where both want a core. Processes that this one starts inherit it."""
    if hasattr(os, "nice"):
        with suppress(OSError):  # a sandbox may forbid it
            os.nice(_CLIENT_NICENESS)
