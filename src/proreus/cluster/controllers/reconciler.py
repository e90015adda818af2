"""What the reconciler of one resource has: informer, API client, own writes, status, events."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable

from proreus.api.json_types import Json
from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.api.status import ApiError, Conflict
from proreus.client.controller import Controller, ReconcileLimits, Request, Result, Watch
from proreus.client.controller.own_writes import OwnWrites
from proreus.client.controller.predicates import Predicate
from proreus.client.informer import SharedInformer
from proreus.client.resources.resource_client import ResourceClient
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.ownership import (
    ClaimWriter,
    OwnerGone,
    candidates,
    claim,
    is_namespace_terminating,
)

log = logging.getLogger(__name__)


class ObjectReconciler(ABC):
    """Brings objects of one resource, as ``cronjobs.batch``, to the desired state, one per call.

    ``sync`` gets a state as new as the own writes. ``component``: the source of its events, empty
    for one that records none.
    """

    def __init__(self, context: ControllerContext, resource: str, component: str = "") -> None:
        self._context = context
        self.client = context.client
        self.clock = context.clock
        self.api = context.client.resource(resource)
        self.informer = context.informers.informer(resource)
        self.writes = OwnWrites()
        if component:
            self.recorder = context.recorder(component)

    @abstractmethod
    async def sync(self, obj: KubeObject, /) -> Result | None:
        """One reconcile of an object that exists."""

    def forget(self, key: str) -> None:  # noqa: B027  # most remember nothing
        """The object is gone, and with it what was remembered of it."""

    def controller(
        self,
        name: str,
        *,
        owns: Iterable[SharedInformer] = (),
        watches: Iterable[Watch] = (),
        when: Predicate | None = None,
        concurrency: int = 5,
        max_retries: int | None = None,
    ) -> Controller:
        made = Controller(
            self.reconcile,
            self.informer,
            when=when,
            owns=owns,
            watches=watches,
            name=name,
            concurrency=concurrency,
            limits=ReconcileLimits(max_retries=max_retries),
        )
        made.share_own_writes(self.writes)
        return made

    async def reconcile(self, request: Request) -> Result | None:
        """A Conflict is no failure. The cache does not show the latest write yet; that version
        is on its way, and its event brings the key back."""
        if request.object is None:
            self.forget(request.key)
            return None
        try:
            return await self.sync(request.object)
        except (Conflict, OwnerGone) as stale:
            log.debug("cache was stale: key=%s reason=%s", request.key, stale)
            return None
        except ApiError as refused:
            if is_namespace_terminating(refused):
                return None
            raise

    async def write_status(self, obj: KubeObject, status: Json) -> KubeObject:
        """The object as it is afterwards; nothing is written if nothing changes."""
        if (obj.status or {}) == status:
            return obj
        return await self.api.in_namespace_of(obj).replace_status(
            {**obj.to_dict(), "status": status}
        )

    async def claim(
        self,
        owner: KubeObject,
        informer: SharedInformer,
        api: ResourceClient,
        selector: LabelSelector,
        found: Iterable[KubeObject] | None = None,
        *,
        finalizers: tuple[str, ...] = (),
    ) -> list[KubeObject]:
        """The objects of ``informer`` that the owner controls, adopted and released by its
        selector. ``found``: the candidates, if not all."""
        known = candidates(informer, owner) if found is None else found
        writer = ClaimWriter(self.api, api, finalizers)
        return await writer.apply(owner, claim(owner, known, selector))

    def record(self, obj: KubeObject, reason: str, message: str) -> None:
        self.recorder.event(obj, "Normal", reason, message)

    def warn(self, obj: KubeObject, reason: str, message: str) -> None:
        self.recorder.event(obj, "Warning", reason, message)
