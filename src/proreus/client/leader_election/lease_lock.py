"""The lock of an election: one Lease object, read and written by compare-and-swap.

The times inside a Lease are for people. Clocks of different machines are never compared: a
candidate measures, on its own clock, how long the record has not changed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Protocol

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_micro_time
from proreus.api.wire.framing import DELETED
from proreus.client.resources.event_stream import ObjectEvent


class Leases(Protocol):
    """The leases of one namespace."""

    async def get(self, name: str, /) -> KubeObject: ...

    async def create(self, body: JsonObject, /) -> KubeObject: ...

    async def replace(self, body: JsonObject, /) -> KubeObject: ...

    def events(self, *, name: str) -> AsyncIterator[ObjectEvent]: ...


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """Who leads. ``holder`` is empty when the last leader has stepped down."""

    holder: str
    duration_s: int
    acquire_time: str
    renew_time: str
    transitions: int

    @classmethod
    def of(cls, lease: KubeObject) -> LeaseRecord:
        spec = lease.get("spec") or {}
        return cls(
            holder=spec.get("holderIdentity") or "",
            duration_s=spec.get("leaseDurationSeconds") or 0,
            acquire_time=spec.get("acquireTime") or "",
            renew_time=spec.get("renewTime") or "",
            transitions=spec.get("leaseTransitions") or 0,
        )

    def renewed(self, now: float, duration_s: int) -> LeaseRecord:
        return replace(self, renew_time=format_micro_time(now), duration_s=duration_s)

    def taken_by(self, holder: str, now: float, duration_s: int) -> LeaseRecord:
        """Another leads from now on."""
        time = format_micro_time(now)
        return LeaseRecord(holder, duration_s, time, time, self.transitions + 1)

    def released(self, now: float) -> LeaseRecord:
        """There is no leader; the next candidate need not wait."""
        time = format_micro_time(now)
        return LeaseRecord("", 1, time, time, self.transitions)

    @classmethod
    def first(cls, holder: str, now: float, duration_s: int) -> LeaseRecord:
        time = format_micro_time(now)
        return cls(holder, duration_s, time, time, 0)

    def spec(self) -> JsonObject:
        return {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.duration_s,
            "acquireTime": self.acquire_time,
            "renewTime": self.renew_time,
            "leaseTransitions": self.transitions,
        }


class LeaseLock:
    """Reads and writes the record in the Lease ``namespace/name``."""

    def __init__(self, leases: Leases, namespace: str, name: str) -> None:
        self._leases = leases
        self.namespace = namespace
        self.name = name

    async def get(self) -> KubeObject:
        """Raises NotFound."""
        return await self._leases.get(self.name)

    async def create(self, record: LeaseRecord) -> KubeObject:
        """Raises AlreadyExists if another candidate was faster."""
        return await self._leases.create(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": self.name, "namespace": self.namespace},
                "spec": record.spec(),
            }
        )

    async def update(self, lease: KubeObject, record: LeaseRecord) -> KubeObject:
        """Raises Conflict if the Lease has changed since ``lease`` was read."""
        content = lease.to_dict()
        content["spec"] = {**(content.get("spec") or {}), **record.spec()}
        return await self._leases.replace(content)

    async def changes(self) -> AsyncIterator[KubeObject | None]:
        """Each state of the Lease, None once it is deleted. Raises ApiError if it may not be
        watched."""
        async for event in self._leases.events(name=self.name):
            yield None if event.type == DELETED else event.object

    def __repr__(self) -> str:
        return f"<LeaseLock {self.namespace}/{self.name}>"
