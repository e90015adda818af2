"""A pod takes over what the priority class and the runtime class it names say."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from proreus.api.group_version import GroupResource
from proreus.server.admission.plugins import lookup
from proreus.server.admission.plugins.refusal import told_as_forbidden
from proreus.server.registry.collection import Collection
from proreus.server.registry.write import CREATE, Attributes
from proreus.server.schema.kinds import pods
from proreus.server.schema.policies import pod_classes

PODS = GroupResource("", "pods")
_MARKED = b'"globalDefault":true'
Class = dict[str, Any] | None


class PodClasses:
    def __init__(self, priorities: Collection, runtimes: Collection) -> None:
        self._priorities = priorities
        self._runtimes = runtimes

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        if not is_new(attributes, PODS):
            return None
        assert attributes.obj is not None
        spec: dict[str, Any] = attributes.obj.setdefault("spec", {})
        if spec.get("priorityClassName") or spec.get("runtimeClassName"):
            return self._take_named(attributes, spec)

        def take(classes: lookup.Objects) -> None:
            _take(attributes, spec, None, _default(classes), None)

        return lookup.with_each(take, self._priorities, having=_MARKED)

    async def _take_named(self, attributes: Attributes, spec: dict[str, Any]) -> None:
        priority_name, runtime_name = spec.get("priorityClassName"), spec.get("runtimeClassName")
        priority = default = runtime = None
        if priority_name in pods.SYSTEM_PRIORITIES:  # every cluster has these two
            priority = {"value": pods.SYSTEM_PRIORITIES[priority_name]}
        elif priority_name:
            priority = await lookup.find(self._priorities, priority_name)
        else:
            default = _default(await lookup.each(self._priorities, having=_MARKED))
        if runtime_name:
            runtime = await lookup.find(self._runtimes, runtime_name)
        _take(attributes, spec, priority, default, runtime)


def _take(
    attributes: Attributes, spec: dict[str, Any], priority: Class, default: Class, runtime: Class
) -> None:
    with told_as_forbidden(attributes):
        pod_classes.take_priority(spec, priority, default)
        # Before the runtime class adds its own: tolerations keep the order they came in.
        pods.add_default_tolerations(spec)
        pod_classes.take_runtime_class(spec, runtime)


def _default(classes: lookup.Objects) -> Class:
    """The lowest of the classes marked as the cluster's default."""
    marked = [c for c in classes if c.get("globalDefault")]
    return min(marked, key=lambda c: int(c.get("value") or 0), default=None)


def is_new(attributes: Attributes, resource: GroupResource) -> bool:
    """Whether an object of this resource is being created."""
    return (
        attributes.operation == CREATE
        and attributes.resource.plural == resource.resource
        and attributes.resource.group == resource.group
        and not attributes.subresource
        and attributes.obj is not None
    )
