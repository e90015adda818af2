"""Flags of authentication, as kube-apiserver spells them, become options."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from proreus.cli.authentication_options import authentication_options
from proreus.server.authn.options import (
    AuthenticationOptions,
    OidcOptions,
    RequestHeaderOptions,
    ServiceAccountOptions,
    TokenWebhookOptions,
)


def given(*flags: str) -> tuple[AuthenticationOptions | None, str]:
    """What flags make, and what is said about them."""
    made: list[AuthenticationOptions] = []

    def command(authentication: AuthenticationOptions) -> None:
        made.append(authentication)

    result = CliRunner().invoke(click.command()(authentication_options(command)), flags)
    return (made[0] if made else None), result.output


def test_without_flags_everything_is_as_kubernetes_has_it() -> None:
    assert given()[0] == AuthenticationOptions()


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (["--anonymous-auth=false"], AuthenticationOptions(anonymous=False)),
        (["--anonymous-auth=true"], AuthenticationOptions(anonymous=True)),
        (["--enable-bootstrap-token-auth"], AuthenticationOptions(bootstrap_tokens=True)),
        (["--enable-bootstrap-token-auth=false"], AuthenticationOptions()),
        (["--client-ca-file", "ca"], AuthenticationOptions(client_ca_file=Path("ca"))),
        (["--authentication-config", "f"], AuthenticationOptions(config_file=Path("f"))),
        (
            ["--authentication-token-webhook-config-file=w",
             "--authentication-token-webhook-cache-ttl=30s"],
            AuthenticationOptions(
                webhook=TokenWebhookOptions(config_file=Path("w"), cache_ttl_s=30.0)
            ),
        ),
        (
            ["--service-account-issuer=https://new", "--service-account-issuer=https://old",
             "--api-audiences=a,b", "--service-account-key-file=k1",
             "--service-account-key-file=k2", "--service-account-signing-key-file=s",
             "--service-account-extend-token-expiration=false",
             "--service-account-max-token-expiration=1h"],
            AuthenticationOptions(
                service_accounts=ServiceAccountOptions(
                    issuers=("https://new", "https://old"), api_audiences=("a", "b"),
                    key_files=(Path("k1"), Path("k2")), signing_key_file=Path("s"),
                    extends_expiration=False, max_expiration_s=3600.0,
                )
            ),
        ),
        (
            ["--oidc-issuer-url=https://i", "--oidc-client-id=c", "--oidc-required-claim=a=b=c",
             "--oidc-required-claim=d=e", "--oidc-signing-algs=RS256,ES256",
             "--oidc-groups-claim=g"],
            AuthenticationOptions(
                oidc=OidcOptions(
                    issuer_url="https://i", client_id="c", groups_claim="g",
                    required_claims={"a": "b=c", "d": "e"}, signing_algorithms=("RS256", "ES256"),
                )
            ),
        ),
        (
            ["--requestheader-client-ca-file=ca", "--requestheader-allowed-names=a,b",
             "--requestheader-username-headers=X-Remote-User",
             "--requestheader-extra-headers-prefix=X-Remote-Extra-"],
            AuthenticationOptions(
                request_header=RequestHeaderOptions(
                    client_ca_file=Path("ca"), allowed_names=("a", "b"),
                    username_headers=("X-Remote-User",),
                    extra_headers_prefix=("X-Remote-Extra-",),
                )
            ),
        ),
    ],
)  # fmt: skip
def test_flags_become_options(flags: list[str], options: AuthenticationOptions) -> None:
    assert given(*flags)[0] == options


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--oidc-client-id=c"], "oidc-issuer-url and oidc-client-id should be specified together"),
        (
            ["--oidc-groups-claim=g", "--authentication-config=f"],
            "authentication-config file and oidc-* flags are mutually exclusive",
        ),
        (["--oidc-required-claim=x"], "malformed pair, expect string=string: x"),
        (
            ["--service-account-issuer=a", "--service-account-issuer=a"],
            'service-account-issuer "a" is already specified',
        ),
        (["--service-account-jwks-uri=http://x"], "service-account-jwks-uri requires https scheme"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(flags: list[str], why: str) -> None:
    options, said = given(*flags)

    assert options is None
    assert why in " ".join(said.split())
