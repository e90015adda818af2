"""The issuers of users' tokens that are configured: by flags, or by a file that is followed.

Servers without them load none of it.
"""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proreus.aio.clock import Clock
from proreus.lazy_dataclass import dataclass
from proreus.server.authn.anonymous import Anonymous
from proreus.server.authn.metrics import AuthenticationMetrics
from proreus.server.authn.options import AuthenticationInvalid, AuthenticationOptions
from proreus.server.config_files.fields import ConfigFileInvalid
from proreus.server.config_files.followed_file import FollowedFile, Reloads
from proreus.server.offload import Runner

if TYPE_CHECKING:
    from proreus.server.authn.chain import Authentication
    from proreus.server.authn.config_file import AuthenticationConfig
    from proreus.server.authn.jwt.authenticators import JwtAuthenticators

_TWICE = (
    "anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured "
    "in authentication configuration file"
)


@dataclass(frozen=True, slots=True)
class Issuers:
    authenticators: JwtAuthenticators
    options: AuthenticationOptions
    file: FollowedFile[AuthenticationConfig] | None = None  # None: flags name the issuer

    def parts(
        self, authentication: Authentication, lane: Runner
    ) -> list[Coroutine[Any, Any, None]]:
        """To be run. What the file says of the anonymous goes to ``authentication``."""
        file = self.file
        if file is None:
            return [self.authenticators.run()]

        def take(config: AuthenticationConfig) -> None:
            self.authenticators.replace(config.jwt)
            authentication.anonymous = anonymous_of(self.options, self)

        file.on_change = take
        return [self.authenticators.run(), file.run(lane)]


def configured_issuers(
    options: AuthenticationOptions, metrics: AuthenticationMetrics, clock: Clock, lane: Runner
) -> Issuers | None:
    """``lane`` for expressions over claims. None: there are no issuers.

    Raises AuthenticationInvalid.
    """
    own = options.service_accounts.issuers
    if options.config_file is not None:
        from proreus.server.authn.jwt.authenticators import JwtAuthenticators

        metrics.reloads = Reloads()
        try:
            file = _follow(options.config_file, options, metrics.reloads, clock)
        except ConfigFileInvalid as error:
            raise AuthenticationInvalid(str(error)) from error
        return Issuers(JwtAuthenticators(file.value.jwt, metrics, clock, lane), options, file)
    if options.oidc.issuer_url:
        from proreus.server.authn.jwt.authenticators import JwtAuthenticators
        from proreus.server.authn.oidc_flags import flags_config

        config = flags_config(options.oidc, own)
        return Issuers(JwtAuthenticators([config], metrics, clock, lane), options)
    return None


def anonymous_of(options: AuthenticationOptions, issuers: Issuers | None) -> Anonymous:
    """By the flag, or else by the file."""
    if issuers is not None and issuers.file is not None:
        found = issuers.file.value.anonymous
        if found is not None:
            return found
    return Anonymous(options.anonymous is not False)


def _follow(
    path: Path, options: AuthenticationOptions, reloads: Reloads, clock: Clock
) -> FollowedFile[AuthenticationConfig]:
    parse = partial(_parse, options)
    return FollowedFile(path, "authentication configuration", parse, reloads, clock)


def _parse(options: AuthenticationOptions, text: bytes) -> AuthenticationConfig:
    from proreus.server.authn.config_file import parse_config

    config = parse_config(text, options.service_accounts.issuers)
    if config.anonymous is not None and options.anonymous is not None:
        raise ConfigFileInvalid(_TWICE)
    return config
