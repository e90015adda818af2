"""What signals do to a server's process until its loop takes them (``ending``)."""

from __future__ import annotations

import os
import signal
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def end_at_once() -> None:
    """Raising would be the milder way, and can be lost: exceptions in finalizers and callbacks are
    dropped."""
    for number in SIGNALS:
        signal.signal(number, _exit)


def _exit(number: int, frame: FrameType | None) -> None:
    os._exit(0)
