"""``serviceaccounts/token``: a token for an account, made on request."""

from __future__ import annotations

from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.group_version import GroupKind, GroupResource, GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.status import BadRequest, Conflict, Invalid, NotFound
from proreus.api.values.timestamp import format_time
from proreus.api.wire import splice
from proreus.net.http1.messages import Answer
from proreus.server.authn.service_accounts import (
    ServiceAccount,
    ServiceAccountTokens,
    credential_id,
)
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.answers import document_answer
from proreus.server.http.handlers.get import read_object
from proreus.server.http.handlers.writing import begin_write, write_options
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry import metadata
from proreus.server.registry.admission import CREATE

_REQUEST = GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest")
_REQUEST_KIND = GroupKind(_REQUEST.group, _REQUEST.kind)
_ISSUED = "authentication.kubernetes.io/issued-credential-id"
_BINDABLE = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}
_MIN_S, _DEFAULT_S, _MAX_S = 600, 3600, 2**32
# A kubelet asks for just this time; the token then lasts a year, and says that it should not.
_KUBELETS_S, _EXTENDED_S = 3607, 365 * 24 * 3600

Bound = dict[str, dict[str, str]]


async def create_token(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    representation = services.representations.review(exchange, route.resource)
    body = await services.decoder.read(exchange)
    options = write_options(exchange, "CreateOptions")
    request, _ = await services.decoder.decode(exchange, body, _REQUEST, options.field_validation)
    given = metadata.ensure(request)
    metadata.check_namespace(request, route.namespace)
    if (name := given.get("name")) and name != route.name:
        why = "must match the service account name if specified"
        error = field_error.invalid("metadata.name", name, why)
        raise Invalid.of(_REQUEST_KIND, route.name, [error])
    write = begin_write(services, exchange, route, options)
    attributes = write.attributes(CREATE, request, None, kind=_REQUEST)
    await services.admission.mutate(attributes)
    account = await _account(services, route, given.get("uid"))
    spec = request.get("spec") or {}
    seconds = spec.get("expirationSeconds")
    if seconds is None:
        seconds = _DEFAULT_S
    if errors := _violations(seconds):
        raise Invalid.of(_REQUEST_KIND, "", errors)
    reference: dict[str, Any] | None = spec.get("boundObjectRef")
    bound = None if reference is None else await _bound(services, route, reference)
    await services.admission.validate(attributes)
    tokens = services.service_accounts
    audiences = spec.get("audiences") or list(tokens.options.audiences)
    seconds = _limited(exchange, seconds, tokens)
    now = services.clock.now()
    is_extended = _is_extended(seconds, bound, audiences, tokens)
    token = await tokens.issue(
        account,
        audiences=audiences,
        expires_s=now + (_EXTENDED_S if is_extended else seconds),
        bound=bound,
        warn_after_s=now + seconds if is_extended else None,
    )
    if exchange.audit is not None:
        exchange.audit.annotate(_ISSUED, credential_id(token))
    answer = {
        "kind": _REQUEST.kind,
        "apiVersion": _REQUEST.api_version,
        "metadata": {
            **given,
            "name": route.name,
            "namespace": route.namespace,
            "uid": account.uid,
            "creationTimestamp": format_time(now),
        },
        "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": reference},
        "status": {"token": token, "expirationTimestamp": format_time(now + seconds)},
    }
    return await document_answer(services, exchange, representation, answer, 201)


async def _account(
    services: Services, route: ResourceRoute, wanted_uid: str | None
) -> ServiceAccount:
    """Raises NotFound, Conflict."""
    account = await _find(services, route.resource.plural, route.namespace, route.name)
    uid = str(account["metadata"]["uid"])
    if wanted_uid and wanted_uid != uid:
        raise Conflict.of(
            GroupResource(_REQUEST.group, _REQUEST.kind),
            route.name,
            f"the UID in the token request ({wanted_uid}) does not match the UID of the service "
            f"account ({uid})",
        )
    return ServiceAccount(route.namespace, route.name, uid)


async def _bound(services: Services, route: ResourceRoute, reference: dict[str, Any]) -> Bound:
    """A token may end with another object: that must be there, and be the one it names.

    Raises BadRequest, NotFound, Conflict.
    """
    kind, api_version = reference.get("kind") or "", reference.get("apiVersion") or ""
    group, _, version = api_version.rpartition("/")
    plural = None if group else _BINDABLE.get(kind)
    if plural is None:
        raise BadRequest(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    name = reference.get("name") or ""
    found = await _find(services, plural, "" if kind == "Node" else route.namespace, name)
    bound = {kind.lower(): {"name": name, "uid": str(found["metadata"]["uid"])}}
    if kind == "Pod":
        bound |= await _node_of(services, route, found)
    uid, wanted = bound[kind.lower()]["uid"], reference.get("uid")
    if wanted and wanted != uid:
        raise Conflict.of(
            GroupResource("", kind),
            name,
            f"the UID in the bound object reference ({wanted}) does not match the UID in record. "
            "The object might have been deleted and then recreated",
        )
    return bound


async def _node_of(services: Services, route: ResourceRoute, pod: JsonObject) -> Bound:
    """What a pod's token says of its node: its name at least. Raises BadRequest."""
    # Pods of clients that set no account run as the namespace's default one.
    if route.name != (pod["spec"].get("serviceAccountName") or "default"):
        raise BadRequest(
            f'cannot bind token for serviceaccount "{route.name}" to pod running with different '
            "serviceaccount name."
        )
    name = pod["spec"].get("nodeName")
    if not name:
        return {}
    try:
        node = await _find(services, "nodes", "", name)
    except NotFound:
        return {"node": {"name": name}}
    return {"node": {"name": name, "uid": str(node["metadata"]["uid"])}}


async def _find(services: Services, plural: str, namespace: str, name: str) -> JsonObject:
    """The newest state. Raises NotFound, BadRequest."""
    collection = services.collections.named("", "v1", plural)
    found = await read_object(collection, collection.key(namespace, name), "")
    if found is None:
        raise NotFound.of(collection.resource.group_resource, name)
    return splice.decode_item(found.item)


def _limited(exchange: Exchange, seconds: int, tokens: ServiceAccountTokens) -> int:
    most = int(tokens.options.max_expiration_s)
    if not most or seconds <= most:
        return seconds
    exchange.warn(f"requested expiration of {seconds} seconds shortened to {most} seconds")
    return most


def _is_extended(
    seconds: int, bound: Bound | None, audiences: list[str], tokens: ServiceAccountTokens
) -> bool:
    """Whether it is what a kubelet puts into a pod, whose programs may not read it again."""
    return (
        tokens.options.extends_expiration
        and seconds == _KUBELETS_S
        and bound is not None
        and "pod" in bound
        and set(audiences) <= set(tokens.options.audiences)
    )


def _violations(seconds: int) -> list[FieldError]:
    at = "spec.expirationSeconds"
    if seconds < _MIN_S:
        return [field_error.invalid(at, seconds, "may not specify a duration less than 10 minutes")]
    if seconds > _MAX_S:
        return [
            field_error.invalid(at, seconds, "may not specify a duration larger than 2^32 seconds")
        ]
    return []
