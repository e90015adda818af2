"""A server's address as people write it → the URL that requests start with. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from proreus.client.client_config import ConfigError


def server_url(host: str, *, secure: bool) -> str:
    """The server's address as a URL: scheme added if missing, query and fragment dropped."""
    if "://" not in host:
        if "/" in host:
            raise ConfigError(f"server {host!r}: an address with a path needs http:// or https://")
        host = f"{'https' if secure else 'http'}://{host or 'localhost'}"
    parts = urlsplit(host)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"server {host!r}: not an http or https address")
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))
