"""IngressClass: who implements ingresses."""

from __future__ import annotations

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.group_version import GroupKind
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.cells import NONE, age, name_of
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.references import check_reference
from proreus.server.resource import Generation, Lifecycle, Names, Resource, Rules
from proreus.server.resource.printer import Cells, Printer

_CONTROLLER_MAX = 250


def _default(obj: JsonObject) -> None:
    if (parameters := obj["spec"].get("parameters")) is not None:
        parameters.setdefault("scope", "Cluster")


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    controller = spec.get("controller") or ""
    if found.require("spec.controller", controller):
        if len(controller.encode()) > _CONTROLLER_MAX:
            found.append(field_error.too_long("spec.controller", _CONTROLLER_MAX))
        found.domain_prefixed_path("spec.controller", controller)
    if (parameters := spec.get("parameters")) is not None:
        _check_parameters(found, "spec.parameters", parameters)
    return found


def _check_parameters(found: Findings, at: str, parameters: Json) -> None:
    check_reference(found, at, parameters)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    found.required_one_of(f"{at}.scope", scope, ("Cluster", "Namespace"))
    if scope == "Namespace":
        if namespace is None:
            found.require(f"{at}.namespace", None, "`parameters.scope` is set to 'Namespace'")
        else:
            found.name(f"{at}.namespace", namespace, names.dns_label)
    elif scope == "Cluster" and namespace is not None:
        found.forbid(f"{at}.namespace", "`parameters.scope` is set to 'Cluster'")


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    found.unchanged(new["spec"], old["spec"], "controller", at="spec.")
    return [*found, *_validate(new)]


_DEFAULT = "ingressclass.kubernetes.io/is-default-class"


def _fill(obj: Json, now: float) -> Cells:
    spec = obj.get("spec") or {}
    parameters = spec.get("parameters")
    text = NONE
    if parameters:
        kind = GroupKind(parameters.get("apiGroup") or "", parameters.get("kind", ""))
        text = f"{kind}/{parameters.get('name', '')}"
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    name = f"{name_of(obj)} (default)" if annotations.get(_DEFAULT) == "true" else name_of(obj)
    return [name, spec.get("controller", ""), text, age(obj, now)]


RESOURCES = (
    Resource(
        names=Names.of("networking.k8s.io", "v1", "IngressClass", "ingressclasses"),
        namespaced=False,
        lifecycle=Lifecycle(generation=Generation()),
        rules=Rules(default=_default, validate=_validate, validate_update=_validate_update),
        printer=Printer.of(_fill, "Name", "Controller", "Parameters", "Age"),
    ),
)
