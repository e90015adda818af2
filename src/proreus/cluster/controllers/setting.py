"""What every controller is given: the way to the server, the shared caches, the time, a recorder.

One setting per run of the controllers. Controllers are built from it again when they die, while the
informers they share go on.
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
from proreus.cluster.controllers.ownership import CONTROLLER_INDEX, controller_values


class Part(Protocol):
    """Something that runs until it is cancelled."""

    async def run(self) -> None: ...


@dataclass(slots=True)
class Setting:
    client: Client
    clock: Clock
    informers: SharedInformerFactory
    parts: asyncio.TaskGroup  # what runs beside the controllers
    settings: ControllerSettings = field(default_factory=ControllerSettings)
    _recorders: dict[str, EventRecorder] = field(default_factory=dict)

    def recorder(self, component: str) -> EventRecorder:
        """The recorder of one component, the same one each time."""
        found = self._recorders.get(component)
        if found is None:
            found = EventRecorder(self.client.core_v1.events, component, clock=self.clock)
            self._recorders[component] = found
            self.parts.create_task(found.run(), name=f"events of {component}")
        return found

    def owned(self, resource: str) -> SharedInformer:
        """The informer of objects that are looked up by who controls them."""
        return self.informers.informer(resource, indexes={CONTROLLER_INDEX: controller_values})
