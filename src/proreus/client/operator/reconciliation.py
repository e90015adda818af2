"""What a reconcile function of an Operator gets: the object, and what it may do for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar, overload

from proreus.aio.clock import Clock
from proreus.api.json_types import Json, JsonObject
from proreus.api.object import KubeObject, ObjectLike
from proreus.api.object_type import AnyObject
from proreus.client.client import Client
from proreus.client.conditions import set_condition
from proreus.client.event_recorder import NORMAL, EventRecorder
from proreus.client.informer import Lister, SharedInformer, SharedInformerFactory
from proreus.client.ownership import controlled_by
from proreus.client.resources.builtin import resource_name
from proreus.client.resources.modifying import Applied
from proreus.client.resources.resource_client import ResourceClient

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StatusCondition:
    """A condition to be set; its time and generation are added."""

    type: str
    status: bool | str
    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Tools:
    """What all reconciliations of a controller share."""

    operator: str
    client: Client
    clock: Clock
    recorder: EventRecorder
    informers: SharedInformerFactory
    primary: ResourceClient
    owned: tuple[SharedInformer, ...]

    def cached(self, body: ObjectLike, namespace: str) -> KubeObject | None:
        """The state of an owned object, as far as an informer has it."""
        name = (body.get("metadata") or {}).get("name")
        for informer in self.owned:
            found = informer.lister.find(str(name), namespace)
            if found is not None and found.kind == body.get("kind"):
                return found
        return None


@dataclass(frozen=True, slots=True)
class Reconciliation(Generic[T]):
    """One call for one object that exists. ``attempt``: how often in a row it failed before."""

    object: KubeObject
    attempt: int
    _tools: Tools
    _read: Callable[[KubeObject], T]

    @property
    def value(self) -> T:
        """The object as a value of the class that the reconciler was registered for."""
        return self._read(self.object)

    @property
    def key(self) -> str:
        return self.object.key

    @property
    def name(self) -> str:
        return self.object.name

    @property
    def namespace(self) -> str:
        return self.object.namespace

    @property
    def client(self) -> Client:
        """For everything else. While the operator does not lead, its writes are not sent."""
        return self._tools.client

    @overload
    def lister(self, resource: type[AnyObject]) -> Lister[AnyObject]: ...
    @overload
    def lister(self, resource: str) -> Lister: ...
    def lister(self, resource: type[KubeObject] | str) -> Lister:
        """The cache of a kind that the reconciler owns or watches."""
        return self._tools.informers.lister(resource_name(resource))

    async def own(self, body: ObjectLike) -> Applied:
        """Apply an object that this one controls, and that goes with it; it must say apiVersion,
        kind and name. Nothing is sent to be changed that is as it should be already: the answer
        says so."""
        content = controlled_by(self.object, body)
        namespace = str(content["metadata"].get("namespace") or "")
        resource = self._tools.client.resource_of(content)
        known = self._tools.cached(content, namespace)
        return await resource.ensure(content, known=known, field_manager=self._tools.operator)

    async def set_status(
        self, fields: Json | None = None, *conditions: StatusCondition
    ) -> KubeObject:
        """Put these fields and conditions in place; others stay. Nothing is written if nothing
        changes. Raises ``Conflict`` if the object has changed since it was read."""
        seen, before = self.object, self.object.to_dict().get("status") or {}
        after: JsonObject = {**before, **(fields or {})}
        for one in conditions:
            now = self._tools.clock.now()
            after["conditions"] = set_condition(
                seen, one.type, one.status, reason=one.reason, message=one.message, now=now
            )
            seen = KubeObject.from_dict({**seen.to_dict(), "status": after})
        if after == before:
            return self.object
        changed = {name: value for name, value in after.items() if before.get(name) != value}
        guard = {"resourceVersion": self.object.resource_version}
        api = self._tools.primary.in_namespace_of(self.object)
        return await api.patch_status(self.name, {"metadata": guard, "status": changed})

    def event(self, reason: str, message: str, type: str = NORMAL) -> None:  # noqa: A002
        """Record an Event about the object: Normal or Warning, with a CamelCase reason."""
        self._tools.recorder.event(self.object, type, reason, message)

    def __repr__(self) -> str:
        return f"<Reconciliation of {self.object!r}>"
