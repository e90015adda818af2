"""ResourceClaimTemplate: the template of the claims made for pods."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import JsonObject
from proreus.server.kinds.parts.cells import NAME_AND_AGE
from proreus.server.kinds.parts.findings import Findings, immutable_spec
from proreus.server.kinds.parts.resource_claims import check_claim_spec, default_claim_spec
from proreus.server.resource import Lifecycle, Names, Resource, Rules


def _default(obj: JsonObject) -> None:
    default_claim_spec((obj.get("spec") or {}).get("spec") or {})


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    check_claim_spec(found, "spec.spec", (obj.get("spec") or {}).get("spec") or {})
    return found


RESOURCES = (
    Resource(
        names=Names.of("resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates"),
        namespaced=True,
        lifecycle=Lifecycle(returns_deleted=True),
        rules=Rules(default=_default, validate=_validate, validate_update=immutable_spec),
        printer=NAME_AND_AGE,
    ),
)
