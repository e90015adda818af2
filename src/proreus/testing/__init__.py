"""A place to test controllers: a server or a cluster in the test process, forks, faults, time.

Names are loaded when first used: the pytest plugin costs those nothing who do not use it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proreus.testing.cluster import cluster_parts, running_cluster
    from proreus.testing.delivery import Delivery, SentEvent
    from proreus.testing.faults import Fault
    from proreus.testing.interception import BreakConnection
    from proreus.testing.program import RunningProgram, running_program
    from proreus.testing.quiet import StillBusy, settle
    from proreus.testing.requests import RecordedRequest, Requests
    from proreus.testing.server import Checkpoint, RunningServer, running_server
    from proreus.testing.tcp_proxy import TcpProxy
    from proreus.testing.threaded import BlockingServer, SharedServer, blocking_server
    from proreus.testing.virtual_clock import VirtualClock

_PLACES = {
    "BlockingServer": "threaded",
    "BreakConnection": "interception",
    "Checkpoint": "server",
    "Delivery": "delivery",
    "Fault": "faults",
    "RecordedRequest": "requests",
    "Requests": "requests",
    "RunningProgram": "program",
    "RunningServer": "server",
    "SentEvent": "delivery",
    "SharedServer": "threaded",
    "StillBusy": "quiet",
    "TcpProxy": "tcp_proxy",
    "VirtualClock": "virtual_clock",
    "blocking_server": "threaded",
    "cluster_parts": "cluster",
    "running_cluster": "cluster",
    "running_program": "program",
    "running_server": "server",
    "settle": "quiet",
}

__all__ = [
    "BlockingServer", "BreakConnection", "Checkpoint", "Delivery", "Fault", "RecordedRequest",
    "Requests", "RunningProgram", "RunningServer", "SentEvent", "SharedServer", "StillBusy",
    "TcpProxy", "VirtualClock", "blocking_server", "cluster_parts", "running_cluster",
    "running_program", "running_server", "settle",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
