"""What tests put into a server.

An ``ApiServer`` without instruments is built without their places: a request passes nothing that
asks whether there are any.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from proreus.lazy_dataclass import dataclass
from proreus.server.http.exchange import Exchange
from proreus.server.http.stages.stage import Stage
from proreus.server.watch_cache.view import Sink

if TYPE_CHECKING:
    from proreus.server.storage.memory import MemoryStorage

# What stands between a watch and its stream.
WrapSink = Callable[[Exchange, Sink], Sink]


def no_wrapping(exchange: Exchange, sink: Sink) -> Sink:
    return sink


@dataclass(frozen=True, slots=True)
class Instruments:
    """``around``: stages that are passed first and see every answer. ``behind``: those that are
    passed last, where it is known who asks and that they may. ``memory``: a storage to serve
    instead of the configuration's; it outlives the server."""

    around: tuple[Stage, ...] = ()
    behind: tuple[Stage, ...] = ()
    wrap_sink: WrapSink = no_wrapping
    memory: MemoryStorage | None = None


NO_INSTRUMENTS = Instruments()
