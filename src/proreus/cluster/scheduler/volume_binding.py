"""Carries out which volumes a pod's claims get on its node, before the pod is bound to it.

The scheduler writes what it chose, into volumes or as an annotation of claims; the binder and the
provisioner do the rest, and the pod waits for them.
"""

from __future__ import annotations

from collections.abc import Callable

from proreus.aio.clock import Clock, deadline
from proreus.aio.gate import Gate
from proreus.client import Client
from proreus.cluster.scheduler.pod_volumes import VolumeChoice
from proreus.cluster.scheduler.volume_lookup import VolumeLookup
from proreus.cluster.volumes.bound_objects import bound_volume
from proreus.cluster.volumes.storage_annotations import SELECTED_NODE
from proreus.cluster.volumes.views import VolumeClaim

_BOUND_WITHIN_S = 600.0  # kube-scheduler's


class VolumesNotBound(Exception):
    """The pod is looked at again; the text is for the user."""


class VolumeBinding:
    """``changed`` wakes up all that wait here; call it when a claim or a volume changed."""

    def __init__(self, client: Client, clock: Clock, lookup: VolumeLookup) -> None:
        self._client = client
        self._clock = clock
        self._lookup = lookup
        self._waiting: set[Gate] = set()

    def changed(self) -> None:
        for gate in self._waiting:
            gate.open()

    async def bind(self, choice: VolumeChoice, node: str) -> None:
        """Returns once all claims are bound. Raises VolumesNotBound, ApiError, TransportError."""
        for claim, volume in choice.bindings.items():
            await self._reserve(claim, volume)
        for claim in choice.provisioned:
            await self._select_node(claim, node)
        expected = dict.fromkeys(choice.bindings, "") | dict.fromkeys(choice.provisioned, node)
        try:
            async with deadline(self._clock, _BOUND_WITHIN_S):
                await self._wait(lambda: all(self._is_bound(*one) for one in expected.items()))
        except TimeoutError as late:
            raise VolumesNotBound("timed out waiting for the condition") from late

    async def _reserve(self, key: str, name: str) -> None:
        claim, volume = self._lookup.claim(key), self._lookup.volume(name)
        if claim is None or volume is None:
            raise VolumesNotBound(f"claim {key} or volume {name} is gone")
        if (content := bound_volume(volume, claim)) is not None:
            await self._client.core_v1.persistentvolumes.replace(content)

    async def _select_node(self, key: str, node: str) -> None:
        claim = self._lookup.claim(key)
        if claim is None:
            raise VolumesNotBound(f"claim {key} is gone")
        if claim.annotations.get(SELECTED_NODE) == node:
            return
        content = claim.to_dict()
        content["metadata"].setdefault("annotations", {})[SELECTED_NODE] = node
        written = await self._client.core_v1.persistentvolumeclaims(claim.namespace).replace(
            content
        )
        # Only a claim as new as this says whether the node was accepted.
        await self._lookup.claims.lister.wait_for_version(int(written.resource_version))

    async def _wait(self, holds: Callable[[], bool]) -> None:
        gate = Gate()
        self._waiting.add(gate)
        try:
            while not holds():
                gate.shut()
                await gate.wait_open()
        finally:
            self._waiting.discard(gate)

    def _is_bound(self, key: str, node: str) -> bool:
        """``node``: for which its volume is made; empty: it has one. Raises ``VolumesNotBound`` if
        it will not be bound."""
        found = self._lookup.claim(key)
        if found is None:
            raise VolumesNotBound(f"claim {key} is gone")
        claim = VolumeClaim.read(found)
        if not claim.is_bound and claim.selected_node != node:
            raise VolumesNotBound(f"the node that was selected for claim {key} was reset")
        return claim.is_bound
