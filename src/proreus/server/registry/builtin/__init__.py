"""The built-in kinds as data, one file per group; ``builtin_resources`` gathers them.

What a table cannot say (defaults, validation) comes from ``server.schema.kinds`` by group and kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from proreus.api.group_version import GroupKind
from proreus.server.registry.builtin import (
    admissionregistration,
    apiextensions,
    apiregistration,
    apps,
    autoscaling,
    batch,
    certificates,
    coordination,
    core,
    discovery,
    events,
    flowcontrol,
    networking,
    node,
    policy,
    rbac,
    resource_allocation,
    reviews,
    scheduling,
    storage,
)
from proreus.server.registry.resource import Resource
from proreus.server.schema.kinds import rules_for
from proreus.server.schema.rules import Rules

_TABLES: tuple[tuple[Resource, ...], ...] = (
    core.RESOURCES,
    apps.RESOURCES,
    batch.RESOURCES,
    autoscaling.RESOURCES,
    policy.RESOURCES,
    rbac.RESOURCES,
    coordination.RESOURCES,
    discovery.RESOURCES,
    events.RESOURCES,
    networking.RESOURCES,
    node.RESOURCES,
    scheduling.RESOURCES,
    storage.RESOURCES,
    admissionregistration.RESOURCES,
    apiextensions.RESOURCES,
    certificates.RESOURCES,
    flowcontrol.RESOURCES,
    apiregistration.RESOURCES,
    resource_allocation.RESOURCES,
    reviews.RESOURCES,
)


def builtin_resources(
    rules: Callable[[GroupKind], Rules] = rules_for, *, event_ttl_s: float | None = None
) -> list[Resource]:
    """Every built-in resource with its kind's rules. ``event_ttl_s``: how long events are kept, if
    it shall not be what Kubernetes does."""
    return [
        replace(
            resource,
            rules=rules(resource.group_kind),
            ttl_s=event_ttl_s if event_ttl_s and resource.ttl_s else resource.ttl_s,
        )
        for table in _TABLES
        for resource in table
    ]
