"""CustomResourceDefinition: makes the server serve a custom kind.

``server.custom`` puts its rules in, which need threads of their own.
"""

from __future__ import annotations

from proreus.api.json_types import Json
from proreus.server.kinds.parts.cells import holds, name_of
from proreus.server.resource import Generation, Lifecycle, Names, Persistence, Resource
from proreus.server.resource.printer import Cells, Printer


def _fill(obj: Json, _: float) -> Cells:
    spec = obj.get("spec") or {}
    names = spec.get("names") or {}
    versions = [
        f"{version.get('name', '')}(storage)" if version.get("storage") else version.get("name", "")
        for version in spec.get("versions") or ()
        if version.get("served") or version.get("storage")
    ]
    return [
        name_of(obj),
        spec.get("scope", ""),
        ",".join(versions),
        (obj.get("metadata") or {}).get("creationTimestamp"),
        spec.get("group", ""),
        names.get("kind", ""),
        ",".join(names.get("shortNames") or ()),
        holds(obj, "Established"),
    ]


_PRINTER = Printer.of(
    _fill, "Name", "Scope", "Versions", "Created At:date", "Group*", "Kind*", "ShortNames*",
    "Established*:boolean", null_when_empty=True,
)  # fmt: skip


RESOURCES = (
    Resource(
        names=Names.of(
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
            "customresourcedefinitions",
            "crd",
            "crds",
            categories=("api-extensions",),
        ),
        namespaced=False,
        has_status=True,
        persistence=Persistence(prefix="apiextensions.k8s.io/customresourcedefinitions"),
        lifecycle=Lifecycle(
            generation=Generation(), unconditional_update=False, returns_deleted=True
        ),
        printer=_PRINTER,
        # Left out elsewhere, to distinguish none from an empty list.
        zero_spec=(("versions", None),),
    ),
)
