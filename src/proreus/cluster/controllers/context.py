"""What every controller is given: client, clock, shared informers, event recorders.

One context per run of all controllers. A controller that died is built from it again, over the
same informers.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Protocol

from proreus.aio.clock import Clock
from proreus.client.client import Client
from proreus.client.event_recorder import EventRecorder
from proreus.client.informer import SharedInformer, SharedInformerFactory
from proreus.cluster.controller_settings import ControllerSettings
from proreus.cluster.controllers.ownership import CONTROLLER_INDEX, controller_index
from proreus.cluster.controllers.service_accounts import AccountClients


class Runnable(Protocol):
    """Something that runs until it is cancelled."""

    async def run(self) -> None: ...


@dataclass(slots=True)
class ControllerContext:
    client: Client
    clock: Clock
    informers: SharedInformerFactory
    parts: asyncio.TaskGroup  # background tasks beside the controllers
    settings: ControllerSettings = field(default_factory=ControllerSettings)
    accounts: AccountClients | None = None  # None: all controllers work as one user
    _recorders: dict[str, EventRecorder] = field(default_factory=dict)

    def recorder(self, component: str) -> EventRecorder:
        """The recorder of one component, the same one each time."""
        found = self._recorders.get(component)
        if found is None:
            found = EventRecorder(self.client.core_v1.events, component, clock=self.clock)
            self._recorders[component] = found
            self.parts.create_task(found.run(), name=f"events of {component}")
        return found

    def client_of(self, account: str) -> Client:
        """For what is another controller's work in Kubernetes: the client of that one's account."""
        return self.client if self.accounts is None else self.accounts.of(account)

    def owned_informer(self, resource: str) -> SharedInformer:
        """The informer of a resource, indexed by the uid of the controlling owner."""
        return self.informers.informer(resource, indexes={CONTROLLER_INDEX: controller_index})
