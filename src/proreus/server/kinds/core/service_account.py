"""ServiceAccount: the identity of pods; ``/token`` issues credentials for it."""

from __future__ import annotations

from proreus.api.group_version import GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.server.kinds.parts.cells import NAME_AND_AGE
from proreus.server.resource import Lifecycle, Names, Resource, Rules, Subresource
from proreus.server.resource.subresource import CREATE_ONLY

_ENFORCED = "kubernetes.io/enforce-mountable-secrets"
_DEPRECATED = (
    "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
)


def _warnings(obj: JsonObject) -> list[str]:
    annotations = obj["metadata"].get("annotations") or {}
    return [f"metadata.annotations[{_ENFORCED}]: {_DEPRECATED}"] if _ENFORCED in annotations else []


def _name_secrets_alone(obj: JsonObject) -> None:
    """Secrets are those of the account's namespace, whatever else a reference says."""
    for reference in obj.get("secrets") or ():
        for key in [key for key in reference if key != "name"]:
            del reference[key]


RESOURCES = (
    Resource(
        names=Names.of("", "v1", "ServiceAccount", "serviceaccounts", "sa"),
        namespaced=True,
        subresources=(
            Subresource(
                name="token",
                kind=GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest"),
                verbs=CREATE_ONLY,
            ),
        ),
        lifecycle=Lifecycle(returns_deleted=True),
        rules=Rules(
            prepare_create=_name_secrets_alone,
            prepare_update=lambda new, _: _name_secrets_alone(new),
            warnings_on_create=_warnings,
        ),
        printer=NAME_AND_AGE,
    ),
)
