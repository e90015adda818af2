"""Whom claims name: by claims and prefixes, by expressions, and never by guesses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.server.authn.jwt.claim_mapping import ClaimsRefused, user_of
from proreus.server.authn.jwt.config import (
    ClaimMappings,
    Condition,
    Issuer,
    JwtConfig,
    PrefixedClaim,
)
from proreus.server.authn.jwt.expressions import ClaimsExpression, user_condition
from proreus.server.cel.pace import unhurried
from proreus.server.registry.user import User

SUB = PrefixedClaim("sub")


def config(**changes: Any) -> JwtConfig:
    mappings = {
        name: changes.pop(name)
        for name in ("username", "groups", "uid", "extra")
        if name in changes
    }
    return JwtConfig(
        issuer=Issuer("https://i"),
        audiences=("a",),
        mappings=ClaimMappings(**{"username": SUB, **mappings}),
        **changes,
    )


def expression(text: str) -> Any:
    return ClaimsExpression(text).compiled


def condition(text: str, message: str = "no") -> Condition:
    return Condition(ClaimsExpression(text, is_condition=True).compiled, message)


def mapped(rules: JwtConfig, **claims: Any) -> User | str:
    try:
        return user_of(rules, {"sub": "jane", **claims}, unhurried())
    except ClaimsRefused as error:
        return str(error)


@pytest.mark.parametrize(
    ("rules", "claims", "found"),
    [
        (config(), {}, User("jane")),
        (config(username=PrefixedClaim("sub", "p:")), {}, User("p:jane")),
        (config(), {"sub": 1},
         'oidc: parse username claims "sub": json: cannot unmarshal number into Go value of type '
         "string"),
        (config(), {"sub": None}, "oidc: the username is empty"),
        (config(), {"sub": ""}, "oidc: the username is empty"),
        (config(username=PrefixedClaim("name")), {},
         'oidc: parse username claims "name": claim not present'),
        (config(username=PrefixedClaim("email")), {"email": "a@b"}, User("a@b")),
        (config(username=PrefixedClaim("email")), {"email": "a@b", "email_verified": True},
         User("a@b")),
        (config(username=PrefixedClaim("email")), {"email": "a@b", "email_verified": False},
         "oidc: email not verified"),
        (config(username=PrefixedClaim("email")), {"email": "a@b", "email_verified": "true"},
         "oidc: parse 'email_verified' claim: json: cannot unmarshal string into Go value of type "
         "bool"),
        (config(groups=PrefixedClaim("g", "p:")), {"g": ["a", "b"]}, User("jane", ("p:a", "p:b"))),
        (config(groups=PrefixedClaim("g", "p:")), {"g": "a"}, User("jane", ("p:a",))),
        (config(groups=PrefixedClaim("g")), {}, User("jane")),
        (config(groups=PrefixedClaim("g")), {"g": None}, User("jane")),
        (config(groups=PrefixedClaim("g")), {"g": [1]},
         'oidc: parse groups claim "g": json: cannot unmarshal array into Go value of type string'),
        (config(uid=PrefixedClaim("oid")), {"oid": "7"}, User("jane", uid="7")),
        (config(uid=PrefixedClaim("oid")), {}, 'oidc: parse uid claim "oid": claim not present'),
        (config(username=expression("claims.sub + '@' + claims.hd")), {"hd": "x"}, User("jane@x")),
        (config(username=expression("claims.exp")), {"exp": 1},
         "oidc: error evaluating username claim expression: username claim expression must return "
         "a string"),
        (config(username=expression("claims.nope")), {},
         "oidc: error evaluating username claim expression: expression 'claims.nope' resulted in "
         "error: no such key: nope"),
        (config(groups=expression("claims.roles.split(',')")), {"roles": "a,,b"},
         User("jane", ("a", "b"))),
        (config(groups=expression("claims.?roles.orValue([])")), {}, User("jane")),
        (config(groups=expression("[1]")), {},
         "oidc: error evaluating group claim expression: expression must return a string or a list "
         "of strings"),
        (config(uid=expression("string(claims.n)")), {"n": 7}, User("jane", uid="7")),
        (config(extra={"a.b/c": expression("claims.x"), "a.b/d": expression("''")}),
         {"x": ["1", "2"]}, User("jane", extra={"a.b/c": ("1", "2")})),
        (config(required_claims={"hd": "x"}), {"hd": "x"}, User("jane")),
        (config(required_claims={"hd": "x"}), {"hd": "y"},
         "oidc: required claim hd value does not match. Got = y, want = x"),
        (config(required_claims={"hd": "x"}), {},
         "oidc: required claim hd not present in ID token"),
        (config(required_claims={"hd": "x"}), {"hd": True},
         "oidc: parse claim hd: json: cannot unmarshal bool into Go value of type string"),
        (config(claim_conditions=(condition("claims.exp - claims.iat < 10"),)),
         {"exp": 11, "iat": 2}, User("jane")),
        (config(claim_conditions=(condition("claims.exp - claims.iat < 10", "too long"),)),
         {"exp": 12, "iat": 2},
         "oidc: error evaluating claim validation expression: validation expression "
         "'claims.exp - claims.iat < 10' failed: too long"),
        (config(user_conditions=(Condition(user_condition("user.username != 'jane'"), "not her"),)),
         {}, "oidc: error evaluating user info validation rule: validation expression "
         "'user.username != 'jane'' failed: not her"),
        (config(groups=PrefixedClaim("g"), user_conditions=(
            Condition(user_condition("user.groups.all(g, !g.startsWith('system:'))")),)),
         {"g": ["dev"]}, User("jane", ("dev",))),
    ],
)  # fmt: skip
def test_whom_claims_name(rules: JwtConfig, claims: dict[str, Any], found: User | str) -> None:
    assert mapped(rules, **claims) == found


TEXTS = st.text(st.sampled_from("ab:,é"), max_size=4)
CLAIM = (
    st.none() | st.booleans() | st.integers(-3, 3) | TEXTS | st.lists(TEXTS | st.none(), max_size=3)
)
CLAIMS = st.fixed_dictionaries(
    {}, optional={"sub": CLAIM, "groups": CLAIM, "oid": CLAIM, "email": CLAIM, "hd": CLAIM}
)


def naive(claims: dict[str, Any], prefix: str) -> User | None:
    """The rules once more, step by step. None: refused."""

    def text(name: str) -> str | None:
        if name not in claims:
            return None
        return "" if claims[name] is None else claims[name] if type(claims[name]) is str else None

    name, uid = text("sub"), text("oid")
    if name is None or uid is None or not prefix + name or text("hd") != "a":
        return None
    groups: list[str] = []
    if "groups" in claims:
        value = claims["groups"]
        if type(value) is str:
            groups = [value]
        elif type(value) is list:
            groups = [one or "" for one in value]
        elif value is not None:
            return None
    return User(prefix + name, tuple(f"{prefix}{group}" for group in groups), uid)


@given(CLAIMS, TEXTS)
def test_mapping_by_claims_equals_a_naive_one(claims: dict[str, Any], prefix: str) -> None:
    rules = config(
        username=PrefixedClaim("sub", prefix),
        groups=PrefixedClaim("groups", prefix),
        uid=PrefixedClaim("oid"),
        required_claims={"hd": "a"},
    )
    expected = naive(claims, prefix)

    try:
        found: User | None = user_of(rules, claims, unhurried())
    except ClaimsRefused:
        found = None

    assert found == expected


BY_EXPRESSION = config(
    username=expression("claims.sub"),
    groups=expression("claims.?groups.orValue([])"),
    uid=expression("claims.oid"),
)


@given(CLAIMS)
def test_mapping_by_expressions_equals_a_naive_one(claims: dict[str, Any]) -> None:
    name, uid, groups = claims.get("sub"), claims.get("oid"), claims.get("groups", [])
    listed = [groups] if isinstance(groups, str) else [] if groups is None else groups
    is_good = (
        isinstance(name, str)
        and name
        and isinstance(uid, str)
        and isinstance(listed, list)
        and all(isinstance(one, str) for one in listed)
    )
    expected = User(str(name), tuple(filter(None, listed)), str(uid)) if is_good else None

    try:
        found: User | None = user_of(BY_EXPRESSION, claims, unhurried())
    except ClaimsRefused:
        found = None

    assert found == expected
