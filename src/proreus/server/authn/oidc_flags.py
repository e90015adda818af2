"""The one issuer that flags can name, as an entry of the configuration file would."""

from __future__ import annotations

from collections.abc import Sequence

from proreus.api import field_error
from proreus.server.authn.authorities import Authorities
from proreus.server.authn.config_file import url_faults
from proreus.server.authn.jwt.config import (
    ALGORITHMS,
    ClaimMappings,
    Issuer,
    JwtConfig,
    PrefixedClaim,
)
from proreus.server.authn.options import AuthenticationInvalid, OidcOptions


def flags_config(options: OidcOptions, disallowed_issuers: Sequence[str]) -> JwtConfig:
    """Raises AuthenticationInvalid."""
    url = options.issuer_url
    if faults := list(url_faults(url, "oidc-issuer-url", disallowed_issuers)):
        raise AuthenticationInvalid(field_error.join(faults))
    for algorithm in options.signing_algorithms:
        if algorithm not in ALGORITHMS:
            raise AuthenticationInvalid(f'oidc: unsupported signing alg: "{algorithm}"')
    authority = ""
    if options.ca_file is not None:
        authority = Authorities.read(options.ca_file, "oidc-ca-file").pem
    groups = None
    if options.groups_claim:
        groups = PrefixedClaim(options.groups_claim, options.groups_prefix)
    return JwtConfig(
        issuer=Issuer(url, authority=authority),
        audiences=(options.client_id,),
        mappings=ClaimMappings(
            username=PrefixedClaim(options.username_claim, _name_prefix(options)), groups=groups
        ),
        required_claims=options.required_claims,
        algorithms=options.signing_algorithms or ("RS256",),
    )


def _name_prefix(options: OidcOptions) -> str:
    if options.username_prefix == "-":
        return ""
    if not options.username_prefix and options.username_claim != "email":
        return f"{options.issuer_url}#"
    return options.username_prefix
