"""DeviceClass: a selection of devices, and their configuration."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import JsonObject
from proreus.server.kinds.parts.cells import NAME_AND_AGE
from proreus.server.kinds.parts.expressions import check_device_selectors
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.resource_claims import check_device_config
from proreus.server.kinds.parts.resources import is_extended
from proreus.server.resource import Generation, Lifecycle, Names, Resource, Rules

_CONFIGS_MAX = 32


def _validate(obj: JsonObject) -> list[FieldError]:
    found, declared, spec = Findings(), Findings(), obj.get("spec") or {}
    configs = spec.get("config") or ()
    check_device_selectors(found, "spec.selectors", spec.get("selectors"))
    declared.at_most("spec.config", configs, _CONFIGS_MAX)
    for where, config in items(configs if len(configs) <= _CONFIGS_MAX else (), "spec.config"):
        check_device_config(found, declared, where, config)
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended(name):
        why = "must be a valid extended resource name"
        declared.invalid("spec.extendedResourceName", name, why)
    return [*found, *declared]


RESOURCES = (
    Resource(
        names=Names.of("resource.k8s.io", "v1", "DeviceClass", "deviceclasses"),
        namespaced=False,
        lifecycle=Lifecycle(generation=Generation(), returns_deleted=True),
        rules=Rules(validate=_validate),
        printer=NAME_AND_AGE,
    ),
)
