"""A configuration of authentication is taken whole or refused in one sentence."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.wire import json
from proreus.server.authn.anonymous import Anonymous
from proreus.server.authn.config_file import AuthenticationConfig, parse_config
from proreus.server.authn.jwt.config import PrefixedClaim
from proreus.server.config_files.fields import ConfigFileInvalid

HEADER = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration"}
ISSUER = {"url": "https://issuer.example.com", "audiences": ["a"]}
USERNAME = {"claim": "sub", "prefix": ""}


def jwt(**changes: Any) -> dict[str, Any]:
    return {"issuer": ISSUER, "claimMappings": {"username": USERNAME}, **changes}


def issued(**changes: Any) -> dict[str, Any]:
    return jwt(issuer={**ISSUER, **changes})


def mapped(**mappings: Any) -> dict[str, Any]:
    return jwt(claimMappings={"username": USERNAME, **mappings})


def ruled(*rules: dict[str, Any]) -> dict[str, Any]:
    return jwt(claimValidationRules=list(rules))


def named(**username: Any) -> dict[str, Any]:
    return jwt(claimMappings={"username": username})


def parse(*entries: dict[str, Any], **others: Any) -> AuthenticationConfig:
    return parse_config(json.encode({**HEADER, "jwt": list(entries), **others}), ["https://own"])


def test_a_file_without_issuers_is_one() -> None:
    assert parse_config(json.encode(HEADER)) == AuthenticationConfig()


def test_the_main_parts_are_understood() -> None:
    config = parse(
        {
            "issuer": {
                "url": "https://issuer.example.com",
                "discoveryURL": "https://inside.example.com/config",
                "audiences": ["a", "b"],
                "audienceMatchPolicy": "MatchAny",
            },
            "claimValidationRules": [
                {"claim": "hd", "requiredValue": "example.com"},
                {"expression": "claims.exp - claims.nbf <= 86400", "message": "too long"},
            ],
            "claimMappings": {
                "username": {"expression": "claims.sub + ':external'"},
                "groups": {"claim": "roles", "prefix": "g:"},
                "uid": {"claim": "oid"},
                "extra": [{"key": "example.com/tenant", "valueExpression": "claims.tenant"}],
            },
            "userValidationRules": [
                {"expression": "!user.username.startsWith('system:')", "message": "reserved"}
            ],
        },
        anonymous={"enabled": True, "conditions": [{"path": "/livez"}, {"path": "/readyz"}]},
    )

    (found,) = config.jwt
    assert found.issuer.discovery_url == "https://inside.example.com/config"
    assert found.audiences == ("a", "b")
    assert found.required_claims == {"hd": "example.com"}
    assert [one.message for one in found.claim_conditions] == ["too long"]
    assert found.mappings.groups == PrefixedClaim("roles", "g:")
    assert found.mappings.uid == PrefixedClaim("oid")
    assert list(found.mappings.extra) == ["example.com/tenant"]
    assert [one.message for one in found.user_conditions] == ["reserved"]
    assert config.anonymous == Anonymous(True, frozenset({"/livez", "/readyz"}))


PREFIX = "prefix is required when claim is set. It can be set to an empty string"
KEY = "jwt[0].claimMappings.extra[0].key: "


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({}, "jwt[0].issuer.url: Required value"),
        (jwt(issuers=1), 'unknown field "jwt[0].issuers"'),
        (issued(url=1), "jwt[0].issuer.url: Invalid value: 1: must be a string"),
        (issued(url="http://i"), 'jwt[0].issuer.url: Invalid value: "http://i": URL scheme must'),
        (issued(url="https://i/%zz"), 'parse "https://i/%zz": invalid URL escape "%zz"'),
        (issued(url="https://i?q"), "URL must not contain a query"),
        (issued(url="https://i#f"), "URL must not contain a fragment"),
        (issued(url="https://u@i"), "URL must not contain a username or password"),
        (issued(url="https://own"), "URL must not overlap with disallowed issuers: [https://own]"),
        (issued(discoveryURL="https://issuer.example.com/"), "must be different from URL"),
        (issued(discoveryURL="ftp://x"), "jwt[0].issuer.discoveryURL: Invalid value: "),
        (
            issued(certificateAuthority="x"),
            'jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>": data does not contain',
        ),
        (issued(audiences=[]), "jwt[0].issuer.audiences: Required value: at least one"),
        (issued(audiences=[""]), "jwt[0].issuer.audiences[0]: Required value"),
        (
            issued(audiences=["a", "a"], audienceMatchPolicy="MatchAny"),
            'jwt[0].issuer.audiences[1]: Duplicate value: "a"',
        ),
        (issued(audiences=["a", "b"]), "audienceMatchPolicy must be MatchAny for multiple"),
        (issued(audienceMatchPolicy="All"), "must be empty or MatchAny for single audience"),
        (issued(egressSelectorType="cluster"), "egress selector is not supported"),
        (ruled({}), "jwt[0].claimValidationRules[0]: Required value: claim or expression is"),
        (ruled({"claim": "a", "expression": "true"}), "claim and expression can't both be set"),
        (ruled({"claim": "a", "message": "b"}), "may not be specified when claim is set"),
        (
            ruled({"expression": "true", "requiredValue": "b"}),
            "jwt[0].claimValidationRules[0].requiredValue: Invalid value: \"b\": may not be",
        ),
        (ruled({"claim": "a"}, {"claim": "a"}), 'claimValidationRules[1].claim: Duplicate value'),
        (
            ruled({"expression": "true"}, {"expression": "true"}),
            'jwt[0].claimValidationRules[1].expression: Duplicate value: "true"',
        ),
        (ruled({"expression": "claims."}), "expression: Invalid value: \"claims.\": compilation f"),
        (ruled({"expression": "claims.a"}), "must evaluate to bool"),
        (ruled({"expression": "'a'"}), "must evaluate to bool"),
        (jwt(claimMappings={}), "jwt[0].claimMappings.username: Required value: claim or expr"),
        (named(claim="sub"), f"jwt[0].claimMappings.username.prefix: Required value: {PREFIX}"),
        (named(claim="a", expression="b"), "claim and expression can't both be set"),
        (named(expression="claims.a", prefix=""), "may not be specified when expression is set"),
        (named(expression="claims.email"), "claims.email_verified must be used in"),
        (named(expression="claims[?'x'].orValue('') + claims.?email.orValue('')"),
         "claims.email_verified must be used in"),
        (mapped(groups={"claim": "a"}), "jwt[0].claimMappings.groups.prefix: Required value"),
        (mapped(uid={"claim": "a", "expression": "b"}), "jwt[0].claimMappings.uid: Invalid value"),
        (mapped(extra=[{"key": "k", "valueExpression": "1"}]), f"{KEY}Invalid value: \"k\": must"),
        (mapped(extra=[{"key": "", "valueExpression": "1"}]), f"{KEY}Required value"),
        (
            mapped(extra=[{"key": "example.com/A", "valueExpression": "1"}]),
            f'{KEY}Invalid value: "example.com/A": must be lowercase',
        ),
        (mapped(extra=[{"key": "a.k8s.io/b", "valueExpression": "1"}]), "reserved for Kubernetes"),
        (mapped(extra=[{"key": "a.b/c"}]), "extra[0].valueExpression: Required value"),
        (jwt(userValidationRules=[{}]), "jwt[0].userValidationRules[0].expression: Required value"),
        (jwt(userValidationRules=[{"expression": "user.a == 1"}]), "undefined field 'a'"),
        (jwt(userValidationRules=[{"expression": "user.username"}]), "must evaluate to bool"),
    ],
)  # fmt: skip
def test_a_wrong_entry_is_refused_in_one_sentence_with_its_field(
    entry: dict[str, Any], why: str
) -> None:
    with pytest.raises(ConfigFileInvalid) as refused:
        parse(entry)

    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "mappings",
    [
        {"username": {"expression": "claims.email_verified ? claims.email : claims.sub"}},
        {
            "username": {"expression": "claims.email"},
            "extra": [
                {"key": "a.b/c", "valueExpression": "string(claims.?email_verified.orValue(false))"}
            ],
        },
    ],
)
def test_an_email_address_is_a_name_if_it_is_looked_at_whether_it_was_verified(
    mappings: dict[str, Any],
) -> None:
    assert len(parse(jwt(claimMappings=mappings)).jwt) == 1


def test_issuers_are_there_once() -> None:
    with pytest.raises(ConfigFileInvalid, match=r"jwt\[1\]\.issuer\.url: Duplicate value"):
        parse(jwt(), jwt())
    with pytest.raises(ConfigFileInvalid, match=r"jwt: Too many: 65: must have at most 64 items"):
        parse(*[jwt()] * 65)


def test_paths_of_the_anonymous_need_that_they_are_let_in() -> None:
    with pytest.raises(ConfigFileInvalid, match="enabled should be set to true when conditions"):
        parse(anonymous={"conditions": [{"path": "/livez"}]})
    assert parse(anonymous={"enabled": False}).anonymous == Anonymous(False)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["issuer", "url", "audiences", "claimMappings", "username", "claim",
                             "expression", "claimValidationRules", "extra", "key"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@given(st.binary(max_size=60) | VALUES.map(lambda value: json.encode({**HEADER, "jwt": value})))
def test_whatever_a_file_holds_it_is_a_configuration_or_refused_in_one_sentence(
    text: bytes,
) -> None:
    try:
        parse_config(text)
    except ConfigFileInvalid as refused:
        assert "\n" not in str(refused)
