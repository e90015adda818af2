"""How the kinds that configure admission are declared: all alike."""

from __future__ import annotations

from dataclasses import replace

from proreus.api import field_error
from proreus.api.go_text import quoted
from proreus.api.json_types import JsonObject
from proreus.server.offload import NeedsThread
from proreus.server.resource import Generation, Lifecycle, Names, Printer, Resource, Rules
from proreus.server.resource.rules import Validated

_STATIC = ".static.k8s.io"


def admission_kind(
    kind: str, plural: str, rules: Rules, printer: Printer, *, has_status: bool = False
) -> Resource:
    names = Names.of(
        "admissionregistration.k8s.io", "v1", kind, plural, categories=("api-extensions",)
    )
    return Resource(
        names=names,
        namespaced=False,
        has_status=has_status,
        lifecycle=Lifecycle(
            generation=Generation(), status_keeps_metadata=True, unconditional_update=False
        ),
        rules=_with_reserved_names(rules),
        printer=printer,
    )


def _with_reserved_names(rules: Rules) -> Rules:
    """Names that Kubernetes keeps for configurations in files are refused on create."""
    validate, validate_update = rules.validate, rules.validate_update

    def check(obj: JsonObject) -> Validated:
        found, name = validate(obj), obj["metadata"].get("name") or ""
        if not name.endswith(_STATIC):
            return found
        why = (
            f"names ending with {quoted(_STATIC)} are reserved for static manifest-based "
            "configurations and cannot be managed via the API"
        )
        error = field_error.invalid("metadata.name", name, why)
        if isinstance(found, NeedsThread):
            work = found.work
            return NeedsThread(lambda: [*work(), error], found.lane)
        return [*found, error]

    def check_update(new: JsonObject, old: JsonObject) -> Validated:
        return validate(new) if validate_update is None else validate_update(new, old)

    return replace(rules, validate=check, validate_update=check_update)
