"""Credentials → who asks."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from proreus.api.status import ApiError, Unauthorized
from proreus.server.authn.chain import Authentication, Credentials, bearer_token
from proreus.server.authn.impersonation import impersonated
from proreus.server.authn.tokens import StaticTokens, parse_tokens, read_tokens_file
from proreus.server.registry.user import ANONYMOUS, AUTHENTICATED, User

ALICE = User("alice", (AUTHENTICATED,))


@pytest.fixture
def authentication() -> Authentication:
    return Authentication([StaticTokens({"secret": ALICE}).check], {"secret": ALICE})


async def test_a_known_token_is_its_user(authentication: Authentication) -> None:
    assert await authentication.user(Credentials("Bearer secret")) == ALICE
    assert await authentication.user(Credentials("bearer  secret")) == ANONYMOUS
    assert authentication.remembered("Bearer secret") == ALICE


async def test_a_wrong_token_is_worse_than_none(authentication: Authentication) -> None:
    assert await authentication.user(Credentials()) == ANONYMOUS
    assert await authentication.user(Credentials("Basic x")) == ANONYMOUS
    with pytest.raises(Unauthorized):
        await authentication.user(Credentials("Bearer wrong"))


async def test_a_certificate_comes_before_a_token(authentication: Authentication) -> None:
    certificate = {"subject": ((("organizationName", "ops"),), (("commonName", "bob"),))}

    found = await authentication.user(Credentials("Bearer secret", "", certificate))

    assert found == User("bob", ("ops", AUTHENTICATED))


def test_a_browser_may_send_its_token_as_a_protocol() -> None:
    packed = base64.urlsafe_b64encode(b"secret").rstrip(b"=").decode()
    offered = f"x, base64url.bearer.authorization.k8s.io.{packed}"

    assert bearer_token(Credentials("", offered)) == "secret"


@pytest.mark.parametrize(
    "offered", ["{0}c2VjcmV0", "x, {0}!", "x, {0}c2VjcmV0, {0}c2VjcmV0", "x, {0}_w"]
)
def test_a_token_as_a_protocol_is_one_beside_another(offered: str) -> None:
    offered = offered.format("base64url.bearer.authorization.k8s.io.")

    with pytest.raises(Unauthorized):
        bearer_token(Credentials("", offered))


def test_a_tokens_file_names_users_and_groups(tmp_path: Path) -> None:
    file = tmp_path / "tokens.csv"
    file.write_text('t1,alice,u1,"a,b"\n# no\nt2,bob,u2\n')

    users = read_tokens_file(file)

    assert users["t1"] == User("alice", ("a", "b", AUTHENTICATED), "u1")
    assert users["t2"] == User("bob", (AUTHENTICATED,), "u2")


def test_a_line_that_names_nobody_is_refused() -> None:
    with pytest.raises(ValueError, match="token,user,uid"):
        parse_tokens(["only-a-token"])


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([("Accept", "x")], None),
        ([("Impersonate-User", "eve")], User("eve", (AUTHENTICATED,))),
        (
            [("Impersonate-User", "eve"), ("Impersonate-Group", "g"), ("Impersonate-Uid", "7")],
            User("eve", ("g", AUTHENTICATED), "7"),
        ),
        (
            [("Impersonate-User", "system:serviceaccount:ns:bob")],
            User(
                "system:serviceaccount:ns:bob",
                ("system:serviceaccounts", "system:serviceaccounts:ns", AUTHENTICATED),
            ),
        ),
        (
            [("Impersonate-User", "system:anonymous")],
            User("system:anonymous", ("system:unauthenticated",)),
        ),
        (
            [("Impersonate-User", "eve"), ("Impersonate-Extra-Example.com%2Fa", "b")],
            User("eve", (AUTHENTICATED,), "", {"example.com/a": ("b",)}),
        ),
    ],
)
def test_whom_headers_ask_to_act_as(headers: list[tuple[str, str]], expected: User | None) -> None:
    assert impersonated(headers) == expected


def test_a_group_without_a_user_is_refused() -> None:
    with pytest.raises(ApiError, match="without impersonating a user"):
        impersonated([("Impersonate-Group", "g")])
