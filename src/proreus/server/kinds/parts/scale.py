"""``/scale`` of workloads: a Scale of autoscaling/v1, read from and written to the object."""

from __future__ import annotations

from dataclasses import replace

from proreus.api.group_version import GroupVersionKind
from proreus.api.json_types import Json
from proreus.server.kinds.parts.cells import age, name_of, number
from proreus.server.kinds.parts.workloads import template_warnings
from proreus.server.resource import READ_WRITE, Cells, Printer, Resource, Subresource
from proreus.server.resource.lifecycle import Generation, Lifecycle
from proreus.server.resource.names import Names
from proreus.server.resource.rules import Rules, Warnings


def _fill(obj: Json, now: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    wanted, there = number(spec.get("replicas")), number(status.get("replicas"))
    return [name_of(obj), wanted, there, age(obj, now)]


SCALE = Subresource(
    name="scale",
    kind=GroupVersionKind("autoscaling", "v1", "Scale"),
    verbs=READ_WRITE,
    printer=Printer.of(_fill, "Name:string:", "Desired:integer", "Available:integer", "Age"),
)


def replicated_workload(
    *,
    names: Names,
    rules: Rules,
    printer: Printer,
    counts_annotations: bool = False,
    warnings: Warnings = template_warnings,
) -> Resource:
    """A kind whose objects run ``spec.replicas`` pods of one template, of which it warns."""
    return Resource(
        names=names,
        namespaced=True,
        subresources=(SCALE,),
        has_status=True,
        lifecycle=Lifecycle(generation=Generation(on_annotations=counts_annotations)),
        rules=replace(rules, warnings=warnings, warns_of_changes=True),
        printer=printer,
        # A kube-apiserver makes a bookmark of the type it works on, where the count is no pointer.
        zero_spec=(("replicas", 0),),
    )
