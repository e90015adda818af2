"""APIService: a group version and the server that serves it."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.cells import age, condition, name_of
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.resource import Lifecycle, Names, Persistence, Resource, Rules
from proreus.server.resource.printer import Cells, Printer

_GROUP_PRIORITY_MAX, _VERSION_PRIORITY_MAX = 20000, 1000


def _default(obj: JsonObject) -> None:
    if (service := obj["spec"].get("service")) is not None:
        service.setdefault("port", 443)


def _prepare_create(obj: JsonObject) -> None:
    """What this server serves itself is there from the beginning."""
    if obj["spec"].get("service") is None:
        available = {
            "type": "Available",
            "status": "True",
            "lastTransitionTime": obj["metadata"]["creationTimestamp"],
            "reason": "Local",
            "message": "Local APIServices are always available",
        }
        obj["status"] = {"conditions": [available]}


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    group, version = spec.get("group") or "", spec.get("version") or ""
    name, wanted = obj["metadata"].get("name") or "", f"{version}.{group}"
    if not names.path_segment(name) and name != wanted:
        found.invalid("metadata.name", name, f'must be `spec.version+"."+spec.group`: "{wanted}"')
    if group:
        found.name("spec.group", group)
    elif version != "v1":
        why = "only v1 may have an empty group and it better be legacy kube"
        found.require("spec.group", None, why)
    found.name("spec.version", version, names.dns_1035_label)
    for key, most in (
        ("groupPriorityMinimum", _GROUP_PRIORITY_MAX),
        ("versionPriority", _VERSION_PRIORITY_MAX),
    ):
        if not 0 < (spec.get(key) or 0) <= most:
            why = f"must be positive and less than {most}"
            found.invalid(f"spec.{key}", spec.get(key) or 0, why)
    _check_backend(found, spec)
    return found


def _check_backend(found: Findings, spec: JsonObject) -> None:
    service, bundle = spec.get("service"), spec.get("caBundle")
    insecure = bool(spec.get("insecureSkipTLSVerify"))
    if service is None:
        if bundle:
            size = f"{len(bundle) * 3 // 4 - bundle.count('=')} bytes"
            found.invalid("spec.caBundle", size, "local APIServices may not have a caBundle")
        if insecure:
            why = "local APIServices may not have insecureSkipTLSVerify"
            found.invalid("spec.insecureSkipTLSVerify", True, why)
        return
    found.require("spec.service.namespace", service.get("namespace"))
    found.require("spec.service.name", service.get("name"))
    port = service.get("port") or 0
    if not 1 <= port <= 65535:
        why = "port is not valid: must be between 1 and 65535, inclusive"
        found.invalid("spec.service.port", port, why)
    if insecure and bundle:
        found.invalid("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present")


def _validate_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    given = (new.get("status") or {}).get("conditions")
    for where, one in items(given, "status.conditions"):
        found.one_of(f"{where}.status", one.get("status") or "", ("True", "False", "Unknown"))
    return found


def _fill(obj: Json, now: float) -> Cells:
    service = (obj.get("spec") or {}).get("service")
    where = "Local"
    if service:
        where = f"{service.get('namespace', '')}/{service.get('name', '')}"
    return [name_of(obj), where, _available(obj), age(obj, now)]


def _available(obj: Json) -> str:
    found = condition(obj, "Available")
    if found is None:
        return "Unknown"
    status = str(found.get("status", ""))
    return status if status == "True" else f"{status} ({found.get('reason', '')})"


RESOURCES = (
    Resource(
        names=Names.of(
            "apiregistration.k8s.io",
            "v1",
            "APIService",
            "apiservices",
            categories=("api-extensions",),
        ),
        namespaced=False,
        has_status=True,
        persistence=Persistence(prefix="apiregistration.k8s.io/apiservices"),
        lifecycle=Lifecycle(status_keeps_metadata=True, unconditional_update=False),
        name_rule=names.path_segment,
        rules=Rules(
            default=_default,
            prepare_create=_prepare_create,
            validate=_validate,
            validate_status=_validate_status,
        ),
        printer=Printer.of(_fill, "Name", "Service", "Available", "Age", null_when_empty=True),
    ),
)
