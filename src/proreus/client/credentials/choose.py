"""Which source a configuration asks for."""

from __future__ import annotations

import base64
from urllib.parse import urlsplit

from proreus.aio.clock import Clock
from proreus.client.client_config import ClientConfig, ConfigError
from proreus.client.credentials.source import Credential, CredentialSource, Fixed
from proreus.client.credentials.token_file import TokenFile
from proreus.net.addresses import is_loopback


def credential_source(config: ClientConfig, clock: Clock) -> CredentialSource:
    """A token file over a token over basic over an exec plugin over none."""
    auth = config.auth
    if not config.host.startswith("https:"):
        host = urlsplit(config.host).hostname or ""
        if not (auth.over_loopback_http and is_loopback(host)):
            return Fixed(Credential())  # a secret sent in the clear is none
    if (auth.token or auth.token_file) and (auth.username or auth.password):
        raise ConfigError("both a token and a username are set; keep one")
    if auth.token_file is not None:
        return TokenFile(auth.token_file, clock, fallback=auth.token)
    if auth.token:
        return Fixed(Credential(f"Bearer {auth.token}"))
    if auth.username or auth.password:
        pair = base64.b64encode(f"{auth.username}:{auth.password}".encode()).decode()
        return Fixed(Credential(f"Basic {pair}"))
    if auth.exec is not None and not (config.tls.cert_file or config.tls.cert_data):
        from proreus.client.credentials.exec_plugin import ExecPlugin  # few need it

        return ExecPlugin(auth.exec, config, clock)
    return Fixed(Credential())
