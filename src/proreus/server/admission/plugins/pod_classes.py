"""A pod takes over what the priority class and the runtime class it names say."""

from __future__ import annotations

from typing import Any

from proreus.api.group_version import GroupResource
from proreus.server.admission.plugins import lookup
from proreus.server.admission.plugins.refusal import told_as_forbidden
from proreus.server.registry.collection import Collection
from proreus.server.registry.write import CREATE, Attributes
from proreus.server.schema.kinds import pods
from proreus.server.schema.policies import pod_classes

PODS = GroupResource("", "pods")


class PodClasses:
    def __init__(self, priorities: Collection, runtimes: Collection) -> None:
        self._priorities = priorities
        self._runtimes = runtimes

    async def admit(self, attributes: Attributes) -> None:
        if not is_new(attributes, PODS):
            return
        assert attributes.obj is not None
        spec: dict[str, Any] = attributes.obj.setdefault("spec", {})
        priority = await self._priority(spec.get("priorityClassName") or "")
        default = None if spec.get("priorityClassName") else await self._default_priority()
        runtime_name = spec.get("runtimeClassName")
        runtime = await lookup.find(self._runtimes, runtime_name) if runtime_name else None
        with told_as_forbidden(attributes):
            pod_classes.take_priority(spec, priority, default)
            # Before the runtime class adds its own: tolerations keep the order they came in.
            pods.add_default_tolerations(spec)
            pod_classes.take_runtime_class(spec, runtime)

    async def _priority(self, name: str) -> dict[str, Any] | None:
        if not name:
            return None
        if name in pods.SYSTEM_PRIORITIES:  # every cluster has these two
            return {"value": pods.SYSTEM_PRIORITIES[name]}
        return await lookup.find(self._priorities, name)

    async def _default_priority(self) -> dict[str, Any] | None:
        """The lowest of the classes marked as the cluster's default."""
        classes = await lookup.each(self._priorities, having=b'"globalDefault":true')
        marked = [c for c in classes if c.get("globalDefault")]
        return min(marked, key=lambda c: int(c.get("value") or 0), default=None)


def is_new(attributes: Attributes, resource: GroupResource) -> bool:
    """Whether an object of this resource is being created."""
    return (
        attributes.operation == CREATE
        and not attributes.subresource
        and attributes.obj is not None
        and attributes.resource.group_resource == resource
    )
