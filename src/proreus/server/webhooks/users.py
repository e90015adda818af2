"""Who the server is to webhooks that objects name: a kubeconfig with a user for each address.

Users are named by addresses, as kube-apiserver names them: ``host:port``, ``*.domain:port``; those
of port 443 without it as well; ``name.namespace.svc`` for services; ``*`` for all others. The first
that fits in this order is taken, and without any a webhook is called anonymously.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

from proreus.api.json_types import JsonObject
from proreus.lazy_dataclass import dataclass
from proreus.server.webhooks.kubeconfig import KubeconfigInvalid, KubeconfigReader, load_pair

_HTTPS_PORT = ":443"
# What a user may be in a kubeconfig, but needs a program or an exchange of its own.
_NOT_TAKEN = ("exec", "auth-provider", "as", "as-uid", "as-groups", "as-user-extra")


@dataclass(frozen=True, slots=True)
class WebhookUser:
    """``headers`` and the pair of PEM texts are sent; "" and empty are not."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)

    def sign(self, context: ssl.SSLContext) -> None:
        """Answer a webhook that asks for a certificate."""
        if self.certificate:
            load_pair(context, self.certificate, self.key, "user")


ANONYMOUS_USER = WebhookUser()


@dataclass(frozen=True, slots=True)
class WebhookUsers:
    by_name: Mapping[str, WebhookUser] = field(default_factory=dict, repr=False)

    def of(self, address: str) -> WebhookUser:
        """``address``: host and port of a webhook, as it is named."""
        if not self.by_name:
            return ANONYMOUS_USER
        found = (self.by_name[name] for name in _names(address) if name in self.by_name)
        return next(found, ANONYMOUS_USER)


def _names(address: str) -> Iterator[str]:
    yield from _with_stars(address)
    if address.endswith(_HTTPS_PORT):
        yield from _with_stars(address.removesuffix(_HTTPS_PORT))
    yield "*"


def _with_stars(address: str) -> Iterator[str]:
    yield address
    labels = address.split(".")
    for number in range(1, len(labels)):
        yield "*." + ".".join(labels[number:])


def read_webhook_users(path: Path) -> WebhookUsers:
    """Raises KubeconfigInvalid."""
    try:
        reader = KubeconfigReader(path)
        return WebhookUsers({name: _user(reader, user, at) for name, user, at in reader.users()})
    except KubeconfigInvalid as error:
        raise KubeconfigInvalid(f"kubeconfig {path}: {error}") from error


def _user(reader: KubeconfigReader, user: JsonObject, at: str) -> WebhookUser:
    for name in _NOT_TAKEN:
        if name in user:
            raise KubeconfigInvalid(f"{at}.{name}: is not supported for webhooks")
    certificate = reader.pem(user, "client-certificate", at)
    key = reader.pem(user, "client-key", at)
    if certificate or key:
        load_pair(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), certificate, key, at)
    return WebhookUser(reader.headers(user, at), certificate, key)
