"""One process of a server that has several (``proreus server --workers``)."""

from __future__ import annotations

from pathlib import Path

from proreus.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Worker:
    """One of ``count`` processes that together are one server, numbered from 1: they share port,
    certificates, identity and store. ``run_id`` is that of all of them; in ``folder``, which only
    their user can enter, they find each other."""

    number: int
    count: int
    run_id: str
    folder: Path
