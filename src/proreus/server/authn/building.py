"""Builds what authenticates requests from the options."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from proreus.aio.clock import Clock
from proreus.aio.tasks import background
from proreus.lazy_dataclass import dataclass
from proreus.server.authn.bootstrap_tokens import BootstrapTokens
from proreus.server.authn.bound_objects import BoundObjects
from proreus.server.authn.certificates import ClientCertificates
from proreus.server.authn.chain import Authentication, Authenticators
from proreus.server.authn.client_authorities import ClientAuthorities
from proreus.server.authn.extension_servers import trust_data
from proreus.server.authn.front_proxy import FrontProxy
from proreus.server.authn.issuers import Issuers, anonymous_of, configured_issuers
from proreus.server.authn.metrics import AuthenticationMetrics, TokenUses
from proreus.server.authn.options import AuthenticationInvalid, AuthenticationOptions
from proreus.server.authn.service_account_keys import ServiceAccountKeys
from proreus.server.authn.service_accounts import ServiceAccountTokens
from proreus.server.authn.token_check import TokenCheck, for_audiences
from proreus.server.authn.tokens import StaticTokens, TokensFileInvalid, read_tokens_file
from proreus.server.authn.webhook_tokens import WebhookTokens
from proreus.server.offload import Offload
from proreus.server.prometheus import CollectorRegistry
from proreus.server.registry.collections import Collections
from proreus.server.registry.user import User
from proreus.server.webhooks.kubeconfig import KubeconfigInvalid, read_webhook_kubeconfig

_BINDABLE = ("serviceaccount", "secret", "pod", "node")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationInputs:
    """What a server has besides its options. ``authority``: the PEM of its own, "" without TLS."""

    collections: Collections
    clock: Clock
    registry: CollectorRegistry
    offload: Offload
    users: Mapping[str, User]  # by their tokens
    key_file: Path | None  # for a key of the server's own
    authority: str = ""
    front_proxy_authority: str = ""  # of the certificate that this server shows to others


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltAuthentication:
    """``authorities``: those that TLS asks clients' certificates of."""

    authentication: Authentication
    service_accounts: ServiceAccountTokens
    authorities: ClientAuthorities
    may_resume: bool  # whether TLS need not tell whose certificate one is
    trust: Mapping[str, str]  # to be published for servers of further APIs
    issuers: Issuers | None = None
    webhook: WebhookTokens | None = None

    @asynccontextmanager
    async def running(self, offload: Offload) -> AsyncIterator[None]:
        """What of it goes on beside the requests."""
        lane, issuers = offload.configuration, self.issuers
        parts = issuers.parts(self.authentication, lane) if issuers is not None else ()
        try:
            async with background(*parts):
                yield
        finally:
            if self.webhook is not None:
                await self.webhook.close()


def build_authentication(
    options: AuthenticationOptions, inputs: AuthenticationInputs
) -> BuiltAuthentication:
    """Raises AuthenticationInvalid."""
    clock, proxy_options = inputs.clock, options.request_header
    metrics = AuthenticationMetrics(inputs.registry)
    users = {**inputs.users, **_file_users(options)}
    accounts = _service_accounts(options, inputs)
    proxy_file = proxy_options.client_ca_file if proxy_options is not None else None
    authorities = ClientAuthorities(inputs.authority, options.client_ca_file, proxy_file)
    issuers = configured_issuers(options, metrics, clock, inputs.offload.expressions)
    checks = _token_checks(options, inputs, users, accounts)
    if issuers is not None:
        own = options.service_accounts.audiences
        checks.append(for_audiences(own, issuers.authenticators.check))
    webhook = _webhook(options, metrics, clock)
    if webhook is not None:
        checks.append(webhook.check)
    authentication = Authentication(
        Authenticators(
            tokens=checks,
            certificates=ClientCertificates(authorities.client_digests if proxy_options else None),
            lasting=users,
            front_proxy=FrontProxy(proxy_options, authorities.proxy_digests)
            if proxy_options
            else None,
        ),
        audiences=options.service_accounts.audiences,
        anonymous=anonymous_of(options, issuers),
        metrics=metrics,
        clock=clock,
    )
    return BuiltAuthentication(
        authentication=authentication,
        service_accounts=accounts,
        authorities=authorities,
        may_resume=proxy_options is None,
        trust=trust_data(
            authorities.present.clients,
            authorities.present.proxies,
            proxy_options,
            inputs.front_proxy_authority,
        ),
        issuers=issuers,
        webhook=webhook,
    )


def _file_users(options: AuthenticationOptions) -> Mapping[str, User]:
    if options.tokens_file is None:
        return {}
    try:
        return read_tokens_file(options.tokens_file)
    except TokensFileInvalid as error:
        raise AuthenticationInvalid(str(error)) from error


def _webhook(
    options: AuthenticationOptions, metrics: AuthenticationMetrics, clock: Clock
) -> WebhookTokens | None:
    wanted = options.webhook
    if wanted is None:
        return None
    try:
        address = read_webhook_kubeconfig(wanted.config_file)
    except KubeconfigInvalid as error:
        raise AuthenticationInvalid(f"authentication {error}") from error
    own = options.service_accounts.audiences
    return WebhookTokens(address, wanted, own, metrics, clock)


def _service_accounts(
    options: AuthenticationOptions, inputs: AuthenticationInputs
) -> ServiceAccountTokens:
    wanted = options.service_accounts
    bindable = {kind: inputs.collections.named("", "v1", f"{kind}s") for kind in _BINDABLE}
    keys = ServiceAccountKeys(
        inputs.key_file,
        wanted.signing_key_file,
        wanted.key_files,
        lane=inputs.offload.configuration,
    )
    objects, uses = BoundObjects(bindable, inputs.clock), TokenUses(inputs.registry)
    return ServiceAccountTokens(objects, inputs.clock, keys, wanted, uses)


def _token_checks(
    options: AuthenticationOptions,
    inputs: AuthenticationInputs,
    users: Mapping[str, User],
    accounts: ServiceAccountTokens,
) -> list[TokenCheck]:
    """In Kubernetes' order; issuers and webhooks, which may have to be asked, come last."""
    own = options.service_accounts.audiences
    checks = [for_audiences(own, StaticTokens(users).check), accounts.check]
    if options.bootstrap_tokens:
        secrets = inputs.collections.named("", "v1", "secrets")
        checks.append(for_audiences(own, BootstrapTokens(secrets, inputs.clock).check))
    return checks
