"""Claims of devices that others use (``adminAccess``) need a label on their namespace.

Kubernetes asks it in the registry and answers as it does invalid objects.
"""

from __future__ import annotations

from collections.abc import Awaitable

from proreus.api import field_error
from proreus.api.json_types import Json
from proreus.api.status import Invalid
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.plugins import lookup
from proreus.server.kinds.parts.findings import items
from proreus.server.registry.admission import CREATE, UPDATE, Attributes
from proreus.server.registry.collection import Collection

_GROUP = "resource.k8s.io"
_CLAIMS, _TEMPLATES = "resourceclaims", "resourceclaimtemplates"
_LABEL = "resource.kubernetes.io/admin-access"


@dataclass(frozen=True, slots=True)
class AdminAccess:
    namespaces: Collection

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raises Invalid."""
        if attributes.resource.group != _GROUP or attributes.obj is None:
            return None
        at = ""
        if attributes.is_of(CREATE, _GROUP, _CLAIMS):
            at = _requested(attributes.obj.get("spec") or {})
        elif attributes.is_of(CREATE, _GROUP, _TEMPLATES):
            at = _requested((attributes.obj.get("spec") or {}).get("spec") or {})
        elif attributes.is_of(UPDATE, _GROUP, _CLAIMS, "status"):
            is_granted = bool(_allocated(attributes.old or {}))
            at = "" if is_granted else _allocated(attributes.obj)
        return self._check(attributes, at) if at else None

    async def _check(self, attributes: Attributes, at: str) -> None:
        found = await lookup.find(self.namespaces, attributes.namespace)
        labels = ((found or {}).get("metadata") or {}).get("labels") or {}
        if labels.get(_LABEL) == "true":
            return
        why = (
            f"admin access to devices requires the `{_LABEL}: true` label on the containing "
            "namespace"
        )
        error = field_error.forbidden(at, why)
        raise Invalid.of(attributes.resource.group_kind, attributes.name, [error])


def _requested(spec: Json) -> str:
    """Where a claim first asks for it, "" if nowhere; of a template the same path is told."""
    requests = (spec.get("devices") or {}).get("requests")
    for where, request in items(requests, "spec.devices.requests"):
        if (request.get("exactly") or {}).get("adminAccess"):
            return f"{where}.adminAccess"
    return ""


def _allocated(claim: Json) -> str:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results")
    for where, result in items(results, "status.allocation.devices.results"):
        if result.get("adminAccess"):
            return f"{where}.adminAccess"
    return ""
