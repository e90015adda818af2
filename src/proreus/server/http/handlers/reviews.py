"""Questions about who one is and what one may do: answered, never stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.group_version import GroupKind
from proreus.api.status import BadRequest, Invalid
from proreus.api.values.timestamp import format_time
from proreus.net.http_request import Answer
from proreus.server.authn.chain import Authentication
from proreus.server.authz.authorizer import Action, Authorization, Decision
from proreus.server.http.body import input_media
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.answers import document_answer
from proreus.server.http.handlers.writing import write_options
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry.user import User
from proreus.server.schema.rules import JsonObject

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


async def create_review(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    resource = route.resource
    shown = services.representations.review(exchange, resource)
    input_media(exchange)
    body = await services.decoder.read(exchange)
    options = write_options(exchange, "CreateOptions")
    review = await services.decoder.decode(exchange, body, resource.gvk, options.field_validation)
    match resource.kind:
        case "SelfSubjectReview":
            answer = _myself(exchange, services.clock.now())
        case "TokenReview":
            answer = await _token(services.authentication, review)
        case "SelfSubjectRulesReview":
            answer = _rules(review)
        case kind:
            answer = _access(services.authorization, exchange, route, review, kind)
    whole = {"kind": resource.kind, "apiVersion": resource.api_version, **answer}
    return document_answer(exchange, shown, whole, 201)


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
    user = await authentication.user_of_token(token)
    status: JsonObject = {"user": {}}
    if user is not None:
        status = {"authenticated": True, "user": user.to_wire()}
        if spec.get("audiences"):
            status["audiences"] = spec["audiences"]
    else:
        status["error"] = "[invalid bearer token, unknown]"
    return {"metadata": review.get("metadata") or {}, "spec": spec, "status": status}


def _rules(review: JsonObject) -> JsonObject:
    """Everyone known may do everything, so the rules are two lines."""
    if not (review.get("spec") or {}).get("namespace"):
        raise BadRequest("no namespace on request")
    every = ["*"]
    return {
        "metadata": review.get("metadata") or {},
        "spec": {},
        "status": {
            "resourceRules": [{"verbs": every, "apiGroups": every, "resources": every}],
            "nonResourceRules": [{"verbs": every, "nonResourceURLs": every}],
            "incomplete": False,
        },
    }


def _access(
    authorization: Authorization,
    exchange: Exchange,
    route: ResourceRoute,
    review: JsonObject,
    kind: str,
) -> JsonObject:
    spec = review.get("spec") or {}
    is_self = kind == "SelfSubjectAccessReview"
    errors = _spec_violations(spec, is_self=is_self)
    attributes = spec.get("resourceAttributes") or {}
    if kind == "LocalSubjectAccessReview" and attributes.get("namespace") != route.namespace:
        raise BadRequest(
            "spec.resourceAttributes.namespace must match namespace: "
            f"{attributes.get('namespace') or ''}"
        )
    if errors:
        # Kubernetes prints no kind here.
        raise Invalid.of(GroupKind("authorization.k8s.io", ""), "", errors)
    user = exchange.user if is_self else _asked_user(spec)
    verdict = authorization.judge(_action(user, spec))
    status: JsonObject = {"allowed": verdict.decision is Decision.ALLOW}
    if verdict.decision is Decision.DENY:
        status["denied"] = True
    if verdict.reason:
        status["reason"] = verdict.reason
    if fault := _selector_fault(attributes):
        status["evaluationError"] = fault
    return {"metadata": review.get("metadata") or {}, "spec": spec, "status": status}


def _action(user: User, spec: Mapping[str, Any]) -> Action:
    plain = spec.get("nonResourceAttributes")
    if plain is not None:
        return Action(user=user, verb=plain.get("verb") or "", path=plain.get("path") or "/")
    asked = spec.get("resourceAttributes") or {}
    return Action(
        user=user,
        verb=asked.get("verb") or "",
        group=asked.get("group") or "",
        version=asked.get("version") or "",
        resource=asked.get("resource") or "",
        subresource=asked.get("subresource") or "",
        namespace=asked.get("namespace") or "",
        name=asked.get("name") or "",
    )


def _asked_user(spec: Mapping[str, Any]) -> User:
    extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
    return User(
        spec.get("user") or "", tuple(spec.get("groups") or ()), spec.get("uid") or "", extra
    )


def _spec_violations(spec: Mapping[str, Any], *, is_self: bool) -> list[FieldError]:
    both = [spec.get("resourceAttributes"), spec.get("nonResourceAttributes")]
    found: list[FieldError] = []
    if (both[0] is None) == (both[1] is None):
        found.append(
            field_error.invalid(
                "spec.nonResourceAttributes" if both[0] is not None else "spec",
                both[1],
                "cannot be specified in combination with resourceAttributes"
                if both[0] is not None
                else "exactly one of nonResourceAttributes or resourceAttributes must be specified",
            )
        )
    if not is_self and not spec.get("user") and not spec.get("groups"):
        found.append(
            field_error.invalid(
                "spec.user",
                spec.get("user") or "",
                "at least one of user or group must be specified",
            )
        )
    for name in ("fieldSelector", "labelSelector"):
        selector = (both[0] or {}).get(name)
        if (
            selector is not None
            and not selector.get("requirements")
            and not selector.get("rawSelector")
        ):
            at = f"spec.resourceAttributes.{name}"
            found.append(
                field_error.required(
                    f"{at}.requirements",
                    f"when {at} is specified, requirements or rawSelector is required",
                )
            )
    return found


def _selector_fault(attributes: Mapping[str, Any]) -> str:
    for name in ("fieldSelector", "labelSelector"):
        for requirement in (attributes.get(name) or {}).get("requirements") or ():
            if requirement.get("operator") not in _OPERATORS:
                return f"spec.resourceAttributes.{name} ignored due to parse error"
    return ""
