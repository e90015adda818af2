"""Who is let in, and by what: the options of authentication."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from urllib.parse import urlsplit

from proreus.lazy_dataclass import dataclass

# As clusters made by kubeadm have it.
ISSUER = "https://kubernetes.default.svc.cluster.local"
_TOGETHER = "oidc-issuer-url and oidc-client-id should be specified together"
_EITHER = "authentication-config file and oidc-* flags are mutually exclusive"


class AuthenticationInvalid(ValueError):
    """Options, or a file that they name, cannot be used; the text is one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAccountOptions:
    """The first of ``issuers`` issues tokens, those of the others are accepted too.

    Without ``signing_key_file`` tokens are signed with a key of the server's own. The public keys
    of ``key_files`` verify tokens besides.
    """

    issuers: tuple[str, ...] = (ISSUER,)
    api_audiences: tuple[str, ...] = ()  # none: the issuers
    signing_key_file: Path | None = None
    key_files: tuple[Path, ...] = ()
    extends_expiration: bool = True  # of tokens that kubelets ask for
    max_expiration_s: float = 0.0  # 0: whatever is asked for
    jwks_uri: str = ""  # "": at the server's own address

    def __post_init__(self) -> None:
        for number, issuer in enumerate(self.issuers):
            if not issuer:
                raise AuthenticationInvalid("service-account-issuer should not be an empty string")
            if issuer in self.issuers[:number]:
                raise AuthenticationInvalid(
                    f'service-account-issuer "{issuer}" is already specified'
                )
        if self.jwks_uri and urlsplit(self.jwks_uri).scheme != "https":
            why = f"requires https scheme, parsed as: {self.jwks_uri}"
            raise AuthenticationInvalid(f"service-account-jwks-uri {why}")

    @property
    def audiences(self) -> tuple[str, ...]:
        """Whom a token must be meant for to be good here."""
        return self.api_audiences or self.issuers


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcOptions:
    """One issuer of users' tokens, by flags. ``username_prefix``: "-" for none, "" for the issuer's
    URL, unless the name is an email address."""

    issuer_url: str = ""
    client_id: str = ""
    username_claim: str = "sub"
    username_prefix: str = ""
    groups_claim: str = ""
    groups_prefix: str = ""
    required_claims: Mapping[str, str] = field(default_factory=dict)
    signing_algorithms: tuple[str, ...] = ("RS256",)
    ca_file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenWebhookOptions:
    config_file: Path
    cache_ttl_s: float = 120.0
    version: str = "v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHeaderOptions:
    """A proxy with a certificate of ``client_ca_file`` says in headers who asks.

    ``allowed_names`` of its certificate; none: any.
    """

    client_ca_file: Path
    allowed_names: tuple[str, ...] = ()
    username_headers: tuple[str, ...] = ()
    uid_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ()
    extra_headers_prefix: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationOptions:
    """Raises AuthenticationInvalid."""

    tokens_file: Path | None = None
    service_accounts: ServiceAccountOptions = field(default_factory=ServiceAccountOptions)
    anonymous: bool | None = None  # None: as the configuration file says, else they are let in
    bootstrap_tokens: bool = False
    client_ca_file: Path | None = None  # further authorities of client certificates
    oidc: OidcOptions = field(default_factory=OidcOptions)
    config_file: Path | None = None
    webhook: TokenWebhookOptions | None = None
    request_header: RequestHeaderOptions | None = None

    def __post_init__(self) -> None:
        if bool(self.oidc.issuer_url) != bool(self.oidc.client_id):
            raise AuthenticationInvalid(_TOGETHER)
        if self.config_file is not None and self.oidc != OidcOptions():
            raise AuthenticationInvalid(_EITHER)
