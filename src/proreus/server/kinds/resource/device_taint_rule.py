"""DeviceTaintRule: adds a taint to the devices it selects."""

from __future__ import annotations

from proreus.server.resource import Generation, Lifecycle, Names, Resource

RESOURCES = (
    Resource(
        names=Names.of("resource.k8s.io", "v1", "DeviceTaintRule", "devicetaintrules"),
        namespaced=False,
        has_status=True,
        lifecycle=Lifecycle(
            generation=Generation(), status_keeps_metadata=True, returns_deleted=True
        ),
    ),
)
