"""Claims of a verified token → the user it names, or why it names none. Pure.

The words of refusals are Kubernetes', down to what Go's JSON decoder says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from proreus.server.authn.jwt.config import Condition, JwtConfig
from proreus.server.cel.admission import CALL_LIMIT, CompiledExpression
from proreus.server.cel.pace import CostPace
from proreus.server.cel.steps import CostExceeded
from proreus.server.registry.user import User

_TEXTS_WANTED = "expression must return a string or a list of strings"
_GO_KINDS: Mapping[type, str] = {
    bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object",
}  # fmt: skip

Claims = Mapping[str, Any]


class ClaimsRefused(Exception):
    """The claims of a token name no user. ``str(error)`` is for reviewers."""


def user_of(config: JwtConfig, claims: Claims, pace: CostPace) -> User:
    """Raises ClaimsRefused, PaceExceeded."""
    user = User(
        _username(config, claims, pace),
        _groups(config, claims, pace),
        _uid(config, claims, pace),
        _extra(config, claims, pace),
    )
    for claim, wanted in config.required_claims.items():
        if claim not in claims:
            raise ClaimsRefused(f"oidc: required claim {claim} not present in ID token")
        found = _text(claims[claim], f"oidc: parse claim {claim}")
        if found != wanted:
            values = f"Got = {found}, want = {wanted}"
            raise ClaimsRefused(f"oidc: required claim {claim} value does not match. {values}")
    _hold(config.claim_conditions, claims, "claim validation expression", pace)
    _hold(config.user_conditions, user.to_wire(), "user info validation rule", pace)
    return user


def _username(config: JwtConfig, claims: Claims, pace: CostPace) -> str:
    mapping = config.mappings.username
    if isinstance(mapping, CompiledExpression):
        name = _text_of(mapping, claims, "username", pace)
    else:
        about = f'oidc: parse username claims "{mapping.claim}"'
        name = _text(_present(claims, mapping.claim, about), about)
        if mapping.claim == "email" and "email_verified" in claims:
            _require_verified(claims["email_verified"])
        name = mapping.prefix + name
    if not name:
        raise ClaimsRefused("oidc: the username is empty")
    return name


def _require_verified(value: object) -> None:
    if value is not None and not isinstance(value, bool):
        raise _wrong_type("oidc: parse 'email_verified' claim", value, "bool")
    if not value:
        raise ClaimsRefused("oidc: email not verified")


def _groups(config: JwtConfig, claims: Claims, pace: CostPace) -> tuple[str, ...]:
    mapping = config.mappings.groups
    if mapping is None:
        return ()
    if isinstance(mapping, CompiledExpression):
        about = "oidc: error evaluating group claim expression"
        return _texts_of(mapping, claims, about, pace)
    if mapping.claim not in claims:
        return ()
    value, about = claims[mapping.claim], f'oidc: parse groups claim "{mapping.claim}"'
    if value is None:
        return ()
    is_list = isinstance(value, list) and all(one is None or isinstance(one, str) for one in value)
    found = [one or "" for one in value] if is_list else [_text(value, about)]
    return tuple(mapping.prefix + one for one in found)


def _uid(config: JwtConfig, claims: Claims, pace: CostPace) -> str:
    mapping = config.mappings.uid
    if mapping is None:
        return ""
    if isinstance(mapping, CompiledExpression):
        return _text_of(mapping, claims, "uid", pace)
    about = f'oidc: parse uid claim "{mapping.claim}"'
    return _text(_present(claims, mapping.claim, about), about)


def _extra(config: JwtConfig, claims: Claims, pace: CostPace) -> dict[str, tuple[str, ...]]:
    extra: dict[str, tuple[str, ...]] = {}
    for key, expression in config.mappings.extra.items():
        about = f"oidc: error evaluating extra claim expression: {expression.text}"
        if values := _texts_of(expression, claims, about, pace):
            extra[key] = values
    return extra


def _hold(conditions: Iterable[Condition], about: Claims, what: str, pace: CostPace) -> None:
    for condition in conditions:
        expression = condition.expression
        fault = f"oidc: error evaluating {what}"
        if _value(expression, about, fault, pace) is not True:
            why = f"validation expression '{expression.text}' failed: {condition.message}"
            raise ClaimsRefused(f"{fault}: {why}")


def _text_of(expression: CompiledExpression, claims: Claims, what: str, pace: CostPace) -> str:
    about = f"oidc: error evaluating {what} claim expression"
    value = _value(expression, claims, about, pace)
    if not isinstance(value, str):
        raise ClaimsRefused(f"{about}: {what} claim expression must return a string")
    return value


def _texts_of(
    expression: CompiledExpression, claims: Claims, about: str, pace: CostPace
) -> tuple[str, ...]:
    """Empty texts are left out."""
    value = _value(expression, claims, about, pace)
    if value is None:
        return ()
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str) for one in values):
        raise ClaimsRefused(f"{about}: {_TEXTS_WANTED}")
    return tuple(one for one in values if one)


def _value(expression: CompiledExpression, about: Claims, fault: str, pace: CostPace) -> Any:
    try:
        outcome = expression.program.run((dict(about),), CALL_LIMIT, pace)
    except CostExceeded:
        why = "operation cancelled: actual cost limit exceeded"
    else:
        if not outcome.error:
            return outcome.value
        why = outcome.error
    raise ClaimsRefused(f"{fault}: expression '{expression.text}' resulted in error: {why}")


def _present(claims: Claims, claim: str, about: str) -> object:
    if claim not in claims:
        raise ClaimsRefused(f"{about}: claim not present")
    return claims[claim]


def _text(value: object, about: str) -> str:
    """null is no text, and yet accepted as an empty one."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong_type(about, value, "string")
    return value


def _wrong_type(about: str, value: object, wanted: str) -> ClaimsRefused:
    kind = _GO_KINDS.get(type(value), "value")
    return ClaimsRefused(f"{about}: json: cannot unmarshal {kind} into Go value of type {wanted}")
