"""Options of authentication, under kube-apiserver's names."""

from __future__ import annotations

from collections.abc import Iterable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from proreus.cli.options import Command, Option, duration, file_option, with_options
from proreus.server.authn.options import (
    AuthenticationInvalid,
    AuthenticationOptions,
    OidcOptions,
    RequestHeaderOptions,
    ServiceAccountOptions,
    TokenWebhookOptions,
)


def authentication_options(command: Command) -> Command:
    """Adds them, and calls the command with the ``authentication`` they make."""

    @wraps(command)
    def decided(**given: Any) -> None:
        try:
            authentication = _options(given)
        except AuthenticationInvalid as error:
            raise click.UsageError(str(error)) from error
        command(authentication=authentication, **given)

    return with_options(decided, *_certificates(), *_tokens(), *_oidc(), *_front_proxy())


def _options(given: dict[str, Any]) -> AuthenticationOptions:
    """Takes its own out of what was given."""
    take = given.pop
    webhook, proxy = take("authentication_token_webhook_config_file"), _proxy(given)
    ttl_s = take("authentication_token_webhook_cache_ttl")
    version = take("authentication_token_webhook_version")
    return AuthenticationOptions(
        tokens_file=take("tokens_file"),
        anonymous=take("anonymous_auth"),
        bootstrap_tokens=bool(take("enable_bootstrap_token_auth")),
        client_ca_file=take("client_ca_file"),
        config_file=take("authentication_config"),
        request_header=proxy,
        webhook=None
        if webhook is None
        else TokenWebhookOptions(config_file=webhook, cache_ttl_s=ttl_s, version=version),
        service_accounts=ServiceAccountOptions(
            issuers=take("service_account_issuer") or ServiceAccountOptions().issuers,
            api_audiences=_items(take("api_audiences")),
            signing_key_file=take("service_account_signing_key_file"),
            key_files=take("service_account_key_file"),
            extends_expiration=take("service_account_extend_token_expiration") is not False,
            max_expiration_s=take("service_account_max_token_expiration"),
            jwks_uri=take("service_account_jwks_uri"),
        ),
        oidc=OidcOptions(
            issuer_url=take("oidc_issuer_url"),
            client_id=take("oidc_client_id"),
            username_claim=take("oidc_username_claim"),
            username_prefix=take("oidc_username_prefix"),
            groups_claim=take("oidc_groups_claim"),
            groups_prefix=take("oidc_groups_prefix"),
            required_claims=dict(map(_pair, take("oidc_required_claim"))),
            signing_algorithms=_items(take("oidc_signing_algs")),
            ca_file=take("oidc_ca_file"),
        ),
    )


def _proxy(given: dict[str, Any]) -> RequestHeaderOptions | None:
    take = given.pop
    file = take("requestheader_client_ca_file")
    lists = {
        name: _items(take(f"requestheader_{name}"))
        for name in ("allowed_names", "username_headers", "uid_headers", "group_headers")
    }
    prefixes = _items(take("requestheader_extra_headers_prefix"))
    if file is None:
        return None
    return RequestHeaderOptions(client_ca_file=file, extra_headers_prefix=prefixes, **lists)


def _certificates() -> tuple[Option, ...]:
    return (
        file_option("--client-ca-file", "Further authorities of users' certificates; followed."),
        _switch("--anonymous-auth", "Whether anonymous requests are let in; default: yes."),
        file_option("--authentication-config", "Issuers of users' tokens, and who may be anonymous "
              "(apiserver.config.k8s.io/v1 AuthenticationConfiguration)."),
    )  # fmt: skip


def _tokens() -> tuple[Option, ...]:
    return (
        click.option(
            "--tokens-file", "--token-auth-file", "tokens_file",
            type=click.Path(path_type=Path, dir_okay=False, exists=True),
            help="Further users: token,user,uid,groups per line.",
        ),
        _switch("--enable-bootstrap-token-auth", "Let in tokens of Secrets of the type "
                "bootstrap.kubernetes.io/token in kube-system."),
        file_option("--authentication-token-webhook-config-file",
              "A kubeconfig: whom to ask about tokens that are not known here."),
        duration("--authentication-token-webhook-cache-ttl", "2m", "How long its answers count."),
        click.option("--authentication-token-webhook-version", default="v1", show_default=True,
                     type=click.Choice(["v1"]), help="Of the TokenReview that is sent."),
        _list("--service-account-issuer", "Who issues tokens of service accounts; tokens of the "
              "second and further ones are accepted.", is_split=False),
        _list("--api-audiences", "Whom tokens must be meant for; default: the issuers."),
        file_option("--service-account-signing-key-file", "Signs tokens; default: an own one."),
        click.option("--service-account-key-file", multiple=True,
                     type=click.Path(path_type=Path, dir_okay=False),
                     help="Keys that verify tokens besides; may be repeated."),
        _switch("--service-account-extend-token-expiration",
                "Whether tokens of pods last for a year; default: yes."),
        duration("--service-account-max-token-expiration", "0s", "The longest; 0: any."),
        _text("--service-account-jwks-uri", "Where others find the keys; default: here."),
    )  # fmt: skip


def _oidc() -> tuple[Option, ...]:
    return (
        _text("--oidc-issuer-url", "An issuer of users' tokens (HTTPS)."),
        _text("--oidc-client-id", "Whom its tokens must be meant for."),
        _text("--oidc-username-claim", "The claim that is the user's name.", "sub"),
        _text("--oidc-username-prefix", "In front of names; -: none; default: the issuer's URL, "
              "unless the claim is email."),
        _text("--oidc-groups-claim", "The claim that has the user's groups."),
        _text("--oidc-groups-prefix", "In front of groups."),
        _list("--oidc-required-claim", "KEY=VALUE that a token must have; may be repeated.",
              is_split=False),
        _list("--oidc-signing-algs", "How tokens may be signed.", default=("RS256",)),
        file_option("--oidc-ca-file", "Authorities of the issuer; default: the system's."),
    )  # fmt: skip


def _front_proxy() -> tuple[Option, ...]:
    return (
        file_option("--requestheader-client-ca-file",
              "Authorities of proxies that may say in headers who asks."),
        _list("--requestheader-allowed-names", "Common names of proxies; default: any."),
        _list("--requestheader-username-headers", "Headers with the user's name."),
        _list("--requestheader-uid-headers", "Headers with the user's UID."),
        _list("--requestheader-group-headers", "Headers with the user's groups."),
        _list("--requestheader-extra-headers-prefix", "How headers with further fields begin."),
    )  # fmt: skip


def _items(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(item for value in values for item in value.split(",") if item)


def _pair(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign:
        raise click.UsageError(
            f"--oidc-required-claim: malformed pair, expect string=string: {text}"
        )
    return key.strip(), value.strip()


def _text(name: str, text: str, default: str = "") -> Option:
    return click.option(name, default=default, show_default=bool(default), help=text)


def _switch(name: str, text: str) -> Option:
    """As Go's: alone it is true, and ``=false`` is possible."""
    return click.option(name, type=bool, is_flag=False, flag_value=True, default=None, help=text)


def _list(name: str, text: str, *, default: tuple[str, ...] = (), is_split: bool = True) -> Option:
    metavar = "TEXT[,TEXT]" if is_split else None
    return click.option(
        name, multiple=True, default=default, show_default=bool(default), metavar=metavar, help=text
    )
