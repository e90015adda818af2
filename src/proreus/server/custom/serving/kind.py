"""Builds what a definition serves: one Resource per served version."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any

from proreus.api.group_version import GroupKind, GroupResource, GroupVersionKind
from proreus.api.jsonpath import JsonPath
from proreus.api.typed import TypeNode
from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass
from proreus.server.custom.conversion.webhook import ConversionWebhook
from proreus.server.custom.conversion.webhook_versions import ConvertedKind, WebhookVersions
from proreus.server.custom.schema.expressions import Expressions
from proreus.server.custom.schema.structural import Structural, parsed, type_node
from proreus.server.custom.serving.object_rules import CustomRules, Decode
from proreus.server.custom.serving.openapi import definition_name
from proreus.server.custom.serving.printer import column_printer
from proreus.server.custom.serving.scale import ScalePaths
from proreus.server.kinds.parts.scale import SCALE
from proreus.server.offload import Lane
from proreus.server.resource import (
    CustomVersion,
    Generation,
    Lifecycle,
    Names,
    Persistence,
    Resource,
    SelectableFields,
)
from proreus.server.resource.conversion import Convert
from proreus.server.resource.selectable import as_text

VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_TERMINATING_VERBS = ("delete", "deletecollection", "get", "list", "watch")
_LIFECYCLE = Lifecycle(
    generation=Generation(), status_keeps_metadata=True, unconditional_update=False
)


@dataclass(frozen=True, slots=True)
class CustomKind:
    """Everything one definition serves. Equal ``fingerprint``: it serves the same."""

    name: str
    kind: GroupKind
    resources: tuple[Resource, ...]
    nodes: Mapping[GroupVersionKind, TypeNode]
    schemas: Mapping[str, Structural]
    fingerprint: bytes
    selectable: tuple[str, ...]


def fingerprint(definition: Mapping[str, Any]) -> bytes:
    accepted = (definition.get("status") or {}).get("acceptedNames")
    is_ending = _is_ending(definition)
    uid = definition["metadata"].get("uid")
    return json.encode([definition["spec"], accepted, is_ending, uid])


def _is_ending(definition: Mapping[str, Any]) -> bool:
    """Whether its instances are being deleted. A definition may outlive them."""
    found = (definition.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Terminating" and one.get("status") == "True" for one in found)


def build(
    definition: Mapping[str, Any],
    convert: Convert,
    revision: int,
    *,
    webhook: ConversionWebhook | None = None,
    start: Callable[[Coroutine[Any, Any, None]], None] = lambda work: work.close(),
    lane: Lane | None = None,
) -> CustomKind:
    """``revision``: objects written after it were written under this schema.

    ``start`` runs conversions that watches wait for; what takes long is validated in ``lane``.
    """
    spec = definition["spec"]
    accepted = definition["status"]["acceptedNames"]
    kind = GroupKind(spec["group"], accepted["kind"])
    versions = spec["versions"]
    schemas = {v["name"]: parsed(v["schema"]["openAPIV3Schema"]) for v in versions}
    storage = next(version for version in versions if version.get("storage"))
    converted = None
    if webhook is not None:
        stored_versions = (definition.get("status") or {}).get("storedVersions")
        converted = ConvertedKind(
            kind=kind,
            schemas=schemas,
            stored_version=storage["name"],
            first_version=(stored_versions or [storage["name"]])[0],
            refresh_before=revision,
            call=webhook.convert,
            start=start,
        )
    resources: list[Resource] = []
    nodes: dict[GroupVersionKind, TypeNode] = {}
    for version in versions:
        if not version.get("served"):
            continue
        gvk = GroupVersionKind(kind.group, version["name"], kind.kind)
        schema = schemas[version["name"]]
        nodes[gvk] = replace(type_node(schema, definition_name(gvk)), decode=Decode(kind, schemas))
        rules = Expressions(schema, lane)
        made = _resource(definition, version, storage, schemas, convert, revision, rules)
        if converted is not None:
            made = _by_webhook(made, version, converted, rules)
        resources.append(made)
    # The first one's fields are what the shared cache reads.
    resources.sort(key=lambda r: (not r.selectable.names, r.gvk != r.stored_gvk))
    return CustomKind(
        name=definition["metadata"]["name"],
        kind=kind,
        resources=tuple(resources),
        nodes=nodes,
        schemas=schemas,
        fingerprint=fingerprint(definition),
        selectable=_all_selectable(versions),
    )


def _resource(
    definition: Mapping[str, Any],
    version: Mapping[str, Any],
    storage: Mapping[str, Any],
    schemas: Mapping[str, Structural],
    convert: Convert,
    revision: int,
    expressions: Expressions,
) -> Resource:
    spec, names = definition["spec"], definition["status"]["acceptedNames"]
    gvk = GroupVersionKind(spec["group"], version["name"], names["kind"])
    parts = version.get("subresources") or {}
    is_stored = version is storage
    stored_schema = schemas[storage["name"]]
    is_ending = _is_ending(definition)
    rules = CustomRules(
        gvk,
        schemas[version["name"]],
        stored_schema,
        parts.get("status") is not None,
        None if is_stored else lambda obj: convert(obj, gvk),
        GroupResource(gvk.group, names["plural"]),
        is_ending,
        expressions,
        _scale(parts.get("scale"), gvk),
    )
    return Resource(
        names=Names(
            group=spec["group"],
            version=version["name"],
            kind=names["kind"],
            plural=names["plural"],
            singular=names.get("singular") or "",
            list_kind=names.get("listKind") or "",
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
        ),
        namespaced=spec["scope"] == "Namespaced",
        verbs=VERBS,
        subresources=(SCALE,) if parts.get("scale") is not None else (),
        has_status=parts.get("status") is not None,
        persistence=Persistence(
            prefix=f"{spec['group']}/{names['plural']}", version=storage["name"]
        ),
        lifecycle=_LIFECYCLE,
        selectable=_selectable(_selectable_paths(version), _all_selectable(spec["versions"])),
        rules=rules.rules(),
        printer=column_printer(version.get("additionalPrinterColumns") or (), gvk),
        deprecation_warning=_deprecation(version, spec, gvk),
        custom=CustomVersion(
            discovery_verbs=_TERMINATING_VERBS if is_ending else (),
            is_storage_served=bool(storage.get("served")),
            scaling=rules.scale,
            refresh_before=revision,
        ),
    )


def _by_webhook(
    resource: Resource,
    version: Mapping[str, Any],
    converted: ConvertedKind,
    expressions: Expressions,
) -> Resource:
    """Such a resource works in its own version: what is stored is converted before and after."""
    schema = converted.schemas[resource.version]
    custom = resource.custom
    assert custom is not None, "made from a definition"
    rules = CustomRules(
        resource.gvk,
        schema,
        schema,
        resource.has_status,
        None,
        resource.group_resource,
        bool(custom.discovery_verbs),
        expressions,
        _scale((version.get("subresources") or {}).get("scale"), resource.gvk),
    )
    versions = WebhookVersions(resource.version, converted, resource.selectable.read)
    return replace(resource, rules=rules.rules(), custom=replace(custom, versions=versions))


def _scale(given: Mapping[str, Any] | None, gvk: GroupVersionKind) -> ScalePaths | None:
    if given is None:
        return None
    return ScalePaths(
        GroupKind(gvk.group, gvk.kind),
        given["specReplicasPath"],
        given["statusReplicasPath"],
        given.get("labelSelectorPath") or "",
    )


def _selectable_paths(version: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(field["jsonPath"] for field in version.get("selectableFields") or ())


def _all_selectable(versions: list[Mapping[str, Any]]) -> tuple[str, ...]:
    """The fields any version selects by: all versions share one cache."""
    return tuple(dict.fromkeys(path for v in versions for path in _selectable_paths(v)))


def _selectable(paths: tuple[str, ...], read_paths: tuple[str, ...]) -> SelectableFields:
    named = {path.removeprefix("."): JsonPath(path) for path in read_paths}

    def read(obj: Mapping[str, Any]) -> dict[str, str]:
        return {name: as_text(path.first(obj)) for name, path in named.items()}

    return SelectableFields(
        names=tuple(path.removeprefix(".") for path in paths), read=read, own_table=True
    )


def _deprecation(version: Mapping[str, Any], spec: Mapping[str, Any], gvk: GroupVersionKind) -> str:
    if not version.get("deprecated"):
        return ""
    if text := version.get("deprecationWarning"):
        return str(text)
    warning = f"{gvk.api_version} {gvk.kind} is deprecated"
    better = _better(version["name"], spec["versions"])
    return f"{warning}; use {gvk.group}/{better} {gvk.kind}" if better else warning


def _better(name: str, versions: list[Mapping[str, Any]]) -> str:
    """The most mature version that is served, not deprecated, and newer than this one."""
    fine = [v["name"] for v in versions if v.get("served") and not v.get("deprecated")]
    ordered = sorted([*fine, name], key=version_rank, reverse=True)
    return str(ordered[0]) if ordered[0] != name else ""


def version_rank(version: str) -> tuple[int, int, int]:
    """Stable over beta over alpha, newer over older, odd names last."""
    import re

    found = re.fullmatch(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?", version)
    if found is None:
        return (-1, 0, 0)
    stage = {None: 2, "beta": 1, "alpha": 0}[found[2]]
    return (stage, int(found[1]), int(found[3] or 0))
