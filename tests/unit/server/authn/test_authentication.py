"""Credentials → who asks."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from proreus.api.status import ApiError, Unauthorized
from proreus.server.authn.anonymous import Anonymous
from proreus.server.authn.certificates import UID_ATTRIBUTE, ClientCertificates
from proreus.server.authn.chain import Authentication, Authenticators, Credentials
from proreus.server.authn.front_proxy import FrontProxy, proxied_user
from proreus.server.authn.impersonation import wanted_user
from proreus.server.authn.metrics import AuthenticationMetrics
from proreus.server.authn.options import RequestHeaderOptions
from proreus.server.authn.token_check import Accepted, Rejected, for_audiences
from proreus.server.authn.tokens import StaticTokens, parse_tokens, read_tokens_file
from proreus.server.http.metrics_text import metrics_text
from proreus.server.prometheus import CollectorRegistry
from proreus.server.registry.user import ANONYMOUS, AUTHENTICATED, User
from proreus.testing.virtual_clock import VirtualClock

ALICE = User("alice", (AUTHENTICATED,))


PROXY = RequestHeaderOptions(
    client_ca_file=Path("proxies.crt"),
    allowed_names=("proxy",),
    username_headers=("X-Remote-User", "X-User"),
    uid_headers=("X-Remote-Uid",),
    group_headers=("X-Remote-Group",),
    extra_headers_prefix=("X-Remote-Extra-",),
)
NOW = 1_767_225_600.0


def made(
    anonymous: Anonymous | None = None, registry: CollectorRegistry | None = None
) -> Authentication:
    users = {"secret": ALICE}
    return Authentication(
        Authenticators(
            tokens=[for_audiences(("here",), StaticTokens(users).check)],
            certificates=ClientCertificates(lambda: frozenset({"users-ca"})),
            lasting=users,
            front_proxy=FrontProxy(PROXY, lambda: frozenset({"proxies-ca"})),
        ),
        audiences=("here",),
        anonymous=anonymous or Anonymous(),
        metrics=AuthenticationMetrics(registry or CollectorRegistry()),
        clock=VirtualClock(NOW),
    )


def certificate(name: str = "bob", authority: str = "users-ca", **about: Any) -> dict[str, Any]:
    subject = ((("organizationName", "ops"),), (("commonName", name),))
    return {"subject": subject, "authorities": (authority,), "sha256": f"of {name}", **about}


@pytest.fixture
def authentication() -> Authentication:
    return made()


async def test_a_known_token_is_its_user(authentication: Authentication) -> None:
    assert await authentication.user(Credentials("Bearer secret")) == ALICE
    assert await authentication.user(Credentials("bearer  secret")) == ANONYMOUS
    assert authentication.remembered("Bearer secret") == ALICE


async def test_a_wrong_token_is_worse_than_none(authentication: Authentication) -> None:
    assert await authentication.user(Credentials()) == ANONYMOUS
    assert await authentication.user(Credentials("Basic x")) == ANONYMOUS
    with pytest.raises(Unauthorized):
        await authentication.user(Credentials("Bearer wrong"))


BOB = User(
    "bob",
    ("ops", AUTHENTICATED),
    extra={"authentication.kubernetes.io/credential-id": ("X509SHA256=of bob",)},
)
FROM_PROXY = [("X-Remote-User", "carol"), ("X-Remote-Group", "a"), ("x-remote-group", "b")]
CAROL = User("carol", ("a", "b", AUTHENTICATED))


@pytest.mark.parametrize(
    ("credentials", "user"),
    [
        (Credentials("Bearer secret", "", certificate()), BOB),
        (Credentials("Bearer wrong", "", certificate()), BOB),
        (Credentials("Bearer secret", "", certificate(authority="other")), ALICE),
        (Credentials("Bearer secret", "", certificate(expires=NOW - 1)), ALICE),
        (Credentials("", "", certificate(expires=NOW)), BOB),
        (Credentials("", "", certificate("proxy", "proxies-ca"), FROM_PROXY), CAROL),
        (Credentials("Bearer secret", "", certificate("proxy", "proxies-ca"), FROM_PROXY), CAROL),
        (Credentials("Bearer secret", "", certificate("proxy", "proxies-ca")), ALICE),
        (Credentials("", "", certificate(), FROM_PROXY), BOB),
        (Credentials("Bearer secret", "", None, FROM_PROXY), ALICE),
        (Credentials("", "", None, FROM_PROXY), ANONYMOUS),
        (Credentials("", "", {"authorities": ("users-ca",)}), None),
        (Credentials("", "", certificate("proxy", "proxies-ca")), None),
        (Credentials("", "", certificate("eve", "proxies-ca"), FROM_PROXY), None),
        (Credentials("", "", certificate(authority="other")), None),
        (Credentials("", "", certificate(expires=NOW - 1)), None),
        (Credentials("Bearer wrong", "", certificate(authority="other")), None),
        (Credentials("", "", certificate("kube-apiserver-kubelet-client")), None),
        (
            Credentials("Bearer secret", "", certificate("kube-apiserver-kubelet-client")),
            ALICE,
        ),
    ],
)
async def test_the_first_good_of_several_identities_counts_and_none_of_them_is_refused(
    authentication: Authentication, credentials: Credentials, user: User | None
) -> None:
    if user is None:
        with pytest.raises(Unauthorized):
            await authentication.user(credentials)
    else:
        assert await authentication.user(credentials) == user


def test_a_certificate_may_say_the_users_uid() -> None:
    certificates = ClientCertificates()

    def uid(*values: str) -> str:
        names = tuple(((UID_ATTRIBUTE, value),) for value in values)
        subject = (*names, (("commonName", "bob"),))
        found = certificates.check({"subject": subject}, NOW)
        return found.uid if isinstance(found, User) else str(found)

    assert uid() == ""
    assert uid("u-1") == "u-1"
    assert "expected 1 UID, but found multiple: [u-1 u-2]" in uid("u-1", "u-2")
    assert "UID cannot be an empty string" in uid("")


@pytest.mark.parametrize(
    ("headers", "user"),
    [
        ([], None),
        ([("X-Remote-User", "")], None),
        ([("X-Remote-Group", "a")], None),
        ([("x-user", "dan")], User("dan")),
        ([("X-Remote-User", ""), ("X-User", "dan")], User("dan")),
        ([("X-User", "dan"), ("X-Remote-User", "eve")], User("eve")),
        (
            [("X-Remote-User", "eve"), ("X-Remote-Uid", "7"), ("X-Remote-Group", "")],
            User("eve", (), "7"),
        ),
        (
            [
                ("X-Remote-User", "eve"),
                ("X-Remote-Extra-Example.com%2FScope", "a"),
                ("x-remote-extra-example.com%2fscope", "b"),
                ("X-Remote-Extra-odd%2", "c"),
            ],
            User("eve", extra={"example.com/scope": ("a", "b"), "odd%2": ("c",)}),
        ),
    ],
)
def test_whom_a_proxy_names(headers: list[tuple[str, str]], user: User | None) -> None:
    assert proxied_user(headers, PROXY) == user


def test_headers_that_name_users_are_known(authentication: Authentication) -> None:
    own = ("x-user", "x-remote-user", "x-remote-extra-a", "impersonate-user")
    assert all(map(authentication.names_user, own))
    assert not any(map(authentication.names_user, ("accept", "x-users", "x-forwarded-for")))


@pytest.mark.parametrize(
    ("anonymous", "allowed", "refused"),
    [
        (Anonymous(), ["/api", "/livez"], []),
        (Anonymous(enabled=False), [], ["/api", "/livez"]),
        (Anonymous(paths=frozenset({"/livez"})), ["/livez"], ["/api", "/livez/", "/livezz", ""]),
    ],
)
async def test_the_anonymous_are_let_in_on_their_paths_only(
    anonymous: Anonymous, allowed: list[str], refused: list[str]
) -> None:
    authentication = made(anonymous)

    for path in allowed:
        assert await authentication.user(Credentials(path=path)) == ANONYMOUS
    for path in refused:
        with pytest.raises(Unauthorized):
            await authentication.user(Credentials(path=path))


async def test_a_browser_may_send_its_token_as_a_protocol(authentication: Authentication) -> None:
    packed = base64.urlsafe_b64encode(b"secret").rstrip(b"=").decode()
    offered = f"x, base64url.bearer.authorization.k8s.io.{packed}"

    assert await authentication.user(Credentials("", offered)) == ALICE
    assert await authentication.user(Credentials("Bearer wrong", offered)) == ALICE


@pytest.mark.parametrize(
    "offered", ["{0}c2VjcmV0", "x, {0}!", "x, {0}c2VjcmV0, {0}c2VjcmV0", "x, {0}_w"]
)
async def test_a_token_as_a_protocol_is_one_beside_another(
    authentication: Authentication, offered: str
) -> None:
    offered = offered.format("base64url.bearer.authorization.k8s.io.")

    with pytest.raises(Unauthorized):
        await authentication.user(Credentials("", offered))


async def test_tokens_without_an_audience_are_meant_for_this_server(
    authentication: Authentication,
) -> None:
    assert await authentication.review("secret") == Accepted(ALICE, ("here",))
    assert await authentication.review("secret", ["there", "here"]) == Accepted(ALICE, ("here",))
    assert await authentication.review("secret", ["there"]) == Rejected("invalid bearer token")


async def test_attempts_are_counted_under_kubernetes_names() -> None:
    registry = CollectorRegistry()
    authentication = made(Anonymous(enabled=False), registry)
    authentication.remembered("Bearer secret")
    await authentication.user(Credentials("bearer secret"))
    for credentials in (Credentials("Bearer wrong"), Credentials()):
        with pytest.raises(Unauthorized):
            await authentication.user(credentials)

    text = b"".join(metrics_text(registry)).decode()

    assert 'authentication_attempts{result="success"} 2\n' in text
    assert 'authentication_attempts{result="error"} 1\n' in text
    assert 'authentication_attempts{result="failure"} 1\n' in text
    assert 'authenticated_user_requests{username="other"} 2\n' in text
    assert 'authentication_duration_seconds_count{result="success"} 2\n' in text


def test_credentials_do_not_show_in_a_repr() -> None:
    rendered = repr(Credentials("Bearer secret", headers=[("Authorization", "Bearer secret")]))

    assert "secret" not in rendered


def test_a_tokens_file_names_users_and_groups(tmp_path: Path) -> None:
    file = tmp_path / "tokens.csv"
    file.write_text('t1,alice,u1,"a,b"\n# no\nt2,bob,u2\nt3,carol,u3,system:authenticated\n')

    users = read_tokens_file(file)

    assert users["t1"] == User("alice", ("a", "b", AUTHENTICATED), "u1")
    assert users["t2"] == User("bob", (AUTHENTICATED,), "u2")
    assert users["t3"] == User("carol", (AUTHENTICATED,), "u3")


def test_a_line_that_names_nobody_is_refused() -> None:
    with pytest.raises(ValueError, match="token,user,uid"):
        parse_tokens(["only-a-token"])


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([("Accept", "x")], None),
        ([("Impersonate-User", "eve")], User("eve")),
        (
            [("Impersonate-User", "eve"), ("Impersonate-Group", "g"), ("Impersonate-Uid", "7")],
            User("eve", ("g",), "7"),
        ),
        (
            [("Impersonate-User", "eve"), ("Impersonate-Extra-Example.com%2Fa", "b")],
            User("eve", (), "", {"example.com/a": ("b",)}),
        ),
    ],
)
def test_whom_headers_ask_to_act_as(headers: list[tuple[str, str]], expected: User | None) -> None:
    assert wanted_user(headers) == expected


def test_a_group_without_a_user_is_refused() -> None:
    with pytest.raises(ApiError, match="without impersonating a user"):
        wanted_user([("Impersonate-Group", "g")])


def test_extras_without_a_user_are_refused_as_go_prints_them() -> None:
    with pytest.raises(ApiError) as refused:
        wanted_user([("Impersonate-Extra-Scopes", "view"), ("Impersonate-Extra-Scopes", "edit")])

    assert 'Extra:map[string][]string{"scopes":[]string{"view", "edit"}}}' in str(refused.value)
