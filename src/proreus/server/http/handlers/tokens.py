"""``serviceaccounts/token``: a token for an account, made on request."""

from __future__ import annotations

from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.group_version import GroupKind, GroupVersionKind
from proreus.api.status import BadRequest, Conflict, Invalid, NotFound
from proreus.api.values.timestamp import format_time
from proreus.api.wire import json
from proreus.net.http_request import Answer
from proreus.server.authn.service_accounts import ISSUER, Account
from proreus.server.http.body import input_media
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.answers import document_answer
from proreus.server.http.handlers.writing import write_options
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry import metadata

_REQUEST = GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest")
_BINDABLE = {("v1", "Pod"): "pods", ("v1", "Secret"): "secrets", ("v1", "Node"): "nodes"}
_MIN_S, _DEFAULT_S, _MAX_S = 600, 3600, 2**32


async def create_token(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    shown = services.representations.review(exchange, route.resource)
    input_media(exchange)
    body = await services.decoder.read(exchange)
    options = write_options(exchange, "CreateOptions")
    request = await services.decoder.decode(exchange, body, _REQUEST, options.field_validation)
    given = metadata.of(request).get("name")
    if given and given != route.name:
        raise BadRequest(
            f"the name of the object ({given}) does not match the name on the URL ({route.name})"
        )
    collection = services.collection(route.resource)
    stored = await collection.store.get(collection.key(route.namespace, route.name))
    if stored is None:
        raise NotFound.of(route.resource.group_resource, route.name)
    spec = request.get("spec") or {}
    seconds = spec.get("expirationSeconds") or _DEFAULT_S
    if errors := _violations(seconds):
        raise Invalid.of(GroupKind(_REQUEST.group, _REQUEST.kind), "", errors)
    account = json.decode(stored.value)["metadata"]
    now = services.clock.now()
    bound: dict[str, Any] | None = spec.get("boundObjectRef")
    if bound is not None:
        bound = {**bound, "uid": await _uid_of_bound(services, route.namespace, bound)}
    audiences = spec.get("audiences") or [ISSUER]
    token = services.service_accounts.issue(
        Account(route.namespace, route.name, account["uid"]),
        audiences=audiences,
        expires_s=now + seconds,
        bound=bound,
    )
    answer = {
        "kind": _REQUEST.kind,
        "apiVersion": _REQUEST.api_version,
        "metadata": {
            "name": route.name,
            "namespace": route.namespace,
            "uid": account["uid"],
            "creationTimestamp": account["creationTimestamp"],
        },
        "spec": {
            "audiences": audiences,
            "expirationSeconds": seconds,
            "boundObjectRef": bound,
        },
        "status": {"token": token, "expirationTimestamp": format_time(now + seconds)},
    }
    return document_answer(exchange, shown, answer, 201)


async def _uid_of_bound(services: Services, namespace: str, bound: dict[str, Any]) -> str:
    """A token may end with another object: that must be there, and be the one it names."""
    kind, version = bound.get("kind") or "", bound.get("apiVersion") or ""
    plural = _BINDABLE.get((version, kind))
    if plural is None:
        group, _, name = version.rpartition("/")
        raise BadRequest(f"cannot bind token to object of type {group}/{name}, Kind={kind}")
    collection = services.collections.named("", "v1", plural)
    name = bound.get("name") or ""
    stored = await collection.store.get(collection.key(namespace, name))
    if stored is None:
        raise NotFound.of(collection.resource.group_resource, name)
    found = str(json.decode(stored.value)["metadata"].get("uid", ""))
    wanted = bound.get("uid") or found
    if wanted != found:
        raise Conflict.of(
            collection.resource.group_resource,
            name,
            f"the UID in the bound object reference ({wanted}) does not match the UID in record. "
            "The object might have been deleted and then recreated",
        )
    return found


def _violations(seconds: int) -> list[FieldError]:
    at = "spec.expirationSeconds"
    if seconds < _MIN_S:
        return [field_error.invalid(at, seconds, "may not specify a duration less than 10 minutes")]
    if seconds > _MAX_S:
        return [
            field_error.invalid(at, seconds, "may not specify a duration larger than 2^32 seconds")
        ]
    return []
