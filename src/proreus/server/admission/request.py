"""A request as admission shows it: to webhooks in a review, to expressions as ``request``. Pure."""

from __future__ import annotations

from proreus.api.group_version import GroupVersionKind, GroupVersionResource
from proreus.api.json_types import JsonObject
from proreus.api.wire.options import DeleteOptions, WriteOptions
from proreus.server.admission.matching import RequestTarget
from proreus.server.registry.admission import Attributes

_OPTION_KINDS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}
_OPTIONS_VERSION = "meta.k8s.io/v1"


def target_of(attributes: Attributes) -> RequestTarget:
    return RequestTarget(
        attributes.operation,
        attributes.resource.gvr,
        attributes.subresource,
        namespace_of(attributes),
        attributes.known_name,
    )


def namespace_of(attributes: Attributes) -> str:
    """Of a Namespace its own name."""
    resource = attributes.resource
    if resource.plural == "namespaces" and not resource.group:
        return attributes.known_name
    return attributes.namespace


def admission_request(
    attributes: Attributes, resource: GroupVersionResource, kind: GroupVersionKind
) -> JsonObject:
    """An AdmissionRequest without uid and objects, which are in the version of ``kind``."""
    asked = attributes.resource.gvr
    request: JsonObject = {
        "kind": _kind(kind),
        "resource": _resource(resource),
        "requestKind": _kind(attributes.kind),
        "requestResource": _resource(asked),
        "operation": attributes.operation,
        "userInfo": attributes.user.to_wire(),
        "dryRun": attributes.dry_run,
        "options": _options(attributes),
    }
    texts = {
        "subResource": attributes.subresource,
        "requestSubResource": attributes.subresource,
        "name": attributes.known_name,
        "namespace": namespace_of(attributes),
    }
    return request | {key: text for key, text in texts.items() if text}


def _kind(kind: GroupVersionKind) -> JsonObject:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(resource: GroupVersionResource) -> JsonObject:
    return {
        "group": resource.group,
        "version": resource.version,
        "resource": resource.resource,
    }


def _options(attributes: Attributes) -> JsonObject | None:
    given = attributes.options
    kind = _OPTION_KINDS.get(attributes.operation)
    if given is None or kind is None:
        return None
    found: JsonObject = {"kind": kind, "apiVersion": _OPTIONS_VERSION}
    fields = _delete(given) if isinstance(given, DeleteOptions) else _write(given)
    return found | {key: value for key, value in fields.items() if value not in (None, "", [])}


def _write(given: WriteOptions) -> JsonObject:
    return {
        "dryRun": list(given.dry_run),
        "fieldManager": given.field_manager,
        "fieldValidation": given.field_validation,
    }


def _delete(given: DeleteOptions) -> JsonObject:
    pinned = {"uid": given.uid, "resourceVersion": given.resource_version}
    conditions = {key: value for key, value in pinned.items() if value is not None}
    return {
        "gracePeriodSeconds": given.grace_period_seconds,
        "preconditions": conditions if given.has_preconditions else None,
        "orphanDependents": given.orphan_dependents,
        "propagationPolicy": given.propagation_policy,
        "dryRun": list(given.dry_run),
    }
