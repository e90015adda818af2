"""TokenReview, SelfSubjectReview and the reviews of access: answered, never stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.group_version import GroupKind
from proreus.api.json_types import JsonObject
from proreus.api.status import BadRequest, Invalid
from proreus.api.values.timestamp import format_time
from proreus.net.http1.messages import Answer
from proreus.server.authn.chain import Authentication
from proreus.server.authn.token_check import Accepted, Rejected
from proreus.server.authz.authorizer import Action, Authorization, Decision
from proreus.server.authz.rbac.rules import aggregated
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.answers import document_answer
from proreus.server.http.handlers.review_rules import (
    access_violations,
    selector_fault,
    selectors,
)
from proreus.server.http.handlers.writing import write_options
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry import metadata
from proreus.server.registry.user import User


async def create_review(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    resource = route.resource
    representation = services.representations.review(exchange, resource)
    body = await services.decoder.read(exchange)
    options = write_options(exchange, "CreateOptions")
    review, _ = await services.decoder.decode(
        exchange, body, resource.gvk, options.field_validation
    )
    if not resource.namespaced:
        metadata.ensure(review).pop("namespace", None)
    match resource.kind:
        case "SelfSubjectReview":
            answer = _myself(exchange, services.clock.now())
        case "TokenReview":
            answer = await _token(services.authentication, review)
        case "SelfSubjectRulesReview":
            answer = _rules(services.authorization, exchange.user, review)
        case kind:
            answer = await _access(services.authorization, exchange, route, review, kind)
    whole = {"kind": resource.kind, "apiVersion": resource.api_version, **answer}
    return await document_answer(services, exchange, representation, whole, 201)


def _myself(exchange: Exchange, now: float) -> JsonObject:
    return {
        "metadata": {"creationTimestamp": format_time(now)},
        "status": {"userInfo": exchange.user.to_wire()},
    }


async def _token(authentication: Authentication, review: JsonObject) -> JsonObject:
    spec = review.get("spec") or {}
    token = spec.get("token") or ""
    if not token:
        raise BadRequest("token is required for TokenReview in authentication")
    match await authentication.review(token, spec.get("audiences") or ()):
        case Accepted(user, audiences):
            status: JsonObject = {
                "authenticated": True,
                "user": user.to_wire(),
                "audiences": list(audiences),
            }
        case Rejected(why):
            status = {"user": {}, "error": why}
    return {"metadata": review.get("metadata") or {}, "spec": spec, "status": status}


def _rules(authorization: Authorization, user: User, review: JsonObject) -> JsonObject:
    namespace = (review.get("spec") or {}).get("namespace")
    if not namespace:
        raise BadRequest("no namespace on request")
    held = authorization.rules_of(user, namespace)
    status: JsonObject = {
        "resourceRules": [rule.resource_part() for rule in held.rules if rule.resources],
        "nonResourceRules": [rule.url_part() for rule in held.rules if rule.urls],
        "incomplete": held.is_incomplete,
    }
    if held.errors:
        status["evaluationError"] = aggregated(held.errors)
    return {"metadata": {}, "spec": {}, "status": status}


async def _access(
    authorization: Authorization,
    exchange: Exchange,
    route: ResourceRoute,
    review: JsonObject,
    kind: str,
) -> JsonObject:
    spec = review.get("spec") or {}
    is_self = kind == "SelfSubjectAccessReview"
    is_local = kind == "LocalSubjectAccessReview"
    if is_local:
        metadata.check_namespace(review, route.namespace)
    attributes = spec.get("resourceAttributes") or {}
    namespace = route.namespace if is_local else ""
    meta = review.get("metadata") or {}
    errors = access_violations(spec, is_self=is_self, namespace=namespace, metadata=meta)
    if errors:
        # Kubernetes prints no kind here.
        raise Invalid.of(GroupKind("authorization.k8s.io", ""), "", errors)
    user = exchange.user if is_self else _asked_user(spec)
    verdict = await authorization.decided(_action(user, spec))
    status: JsonObject = {"allowed": verdict.decision is Decision.ALLOW}
    if verdict.decision is Decision.DENY:
        status["denied"] = True
    if verdict.reason:
        status["reason"] = verdict.reason
    if faults := [text for text in (verdict.error, selector_fault(attributes)) if text]:
        status["evaluationError"] = "; ".join(faults)
    if is_local:
        meta = {**meta, "namespace": route.namespace}
    return {"metadata": meta, "spec": spec, "status": status}


def _action(user: User, spec: Mapping[str, Any]) -> Action:
    plain = spec.get("nonResourceAttributes")
    if plain is not None:
        return Action(user=user, verb=plain.get("verb") or "", path=plain.get("path") or "/")
    asked = spec.get("resourceAttributes") or {}
    fields, labels = selectors(asked)
    return Action(
        user=user,
        verb=asked.get("verb") or "",
        group=asked.get("group") or "",
        version=asked.get("version") or "",
        resource=asked.get("resource") or "",
        subresource=asked.get("subresource") or "",
        namespace=asked.get("namespace") or "",
        name=asked.get("name") or "",
        field_selector=fields,
        label_selector=labels,
    )


def _asked_user(spec: Mapping[str, Any]) -> User:
    extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
    return User(
        spec.get("user") or "", tuple(spec.get("groups") or ()), spec.get("uid") or "", extra
    )
