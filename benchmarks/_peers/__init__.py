"""Other people's programs, measured in the same run in our place.

A benchmark that can measure one has a function ``run_peers(peers)`` beside its ``run()``, whose
rows repeat the questions of its own and name their ``peer``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Peers:
    """The binaries that were given, by the flags of the same names."""

    kube_apiserver: Path | None = None
    kube_controller_manager: Path | None = None
    kube_scheduler: Path | None = None
    etcd: Path | None = None
    client_go: Path | None = None

    @property
    def are_given(self) -> bool:
        return self != Peers()

    def flags(self) -> list[str]:
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        return [f"--{name.replace('_', '-')}={path}" for name, path in given.items() if path]
