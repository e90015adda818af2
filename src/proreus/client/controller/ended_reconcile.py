"""A reconcile that has ended, for people who ask what it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proreus.api.json_types import JsonObject
from proreus.client.controller.own_writes import NotedWrite


@dataclass(frozen=True, slots=True)
class EndedReconcile:
    key: str
    took_s: float
    outcome: str
    writes: Sequence[NotedWrite]

    def describe(self) -> JsonObject:
        """As the debug pages show it (docs/debug.md)."""
        return {
            "key": self.key,
            "seconds": self.took_s,
            "result": self.outcome,
            "writes": [
                {
                    "verb": write.verb,
                    "resource": str(write.resource),
                    "name": write.key,
                    "revision": int(write.version) if write.version.isdecimal() else None,
                }
                for write in self.writes
            ],
        }
