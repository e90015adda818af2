"""Where a webhook of the server's own configuration is: a file in the form of a kubeconfig.

The cluster of the current context is the webhook, its user is who the server is to the webhook.
"""

from __future__ import annotations

import base64
import binascii
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from proreus.api.json_types import JsonObject
from proreus.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from proreus.net.client.connectors import Route


class KubeconfigInvalid(ValueError):
    """``str(error)`` is one sentence that names the file and the field, and quotes no secret."""


@dataclass(frozen=True, slots=True)
class WebhookAddress:
    """``headers`` are the credentials that are sent; ``trust`` has those of TLS."""

    url: str
    trust: ssl.SSLContext | None  # None: the authorities of the system
    server_name: str | None
    headers: Mapping[str, str] = field(repr=False)

    def route(self) -> Route:
        from proreus.net.client.connectors import Route

        return Route(self.trust, self.server_name)


def read_webhook_kubeconfig(path: Path) -> WebhookAddress:
    """Raises KubeconfigInvalid."""
    try:
        return KubeconfigReader(path).address()
    except KubeconfigInvalid as error:
        raise KubeconfigInvalid(f"webhook configuration file {path}: {error}") from error


class KubeconfigReader:
    """Files that it names are beside it, unless their paths are absolute."""

    def __init__(self, path: Path) -> None:
        self._folder = path.parent
        self._document = _document(_content(path, "it"))

    def address(self) -> WebhookAddress:
        name = _text(self._document, "current-context", "")
        if not name:
            raise KubeconfigInvalid("current-context: Required value")
        context, at = self._entry("contexts", "context", name)
        cluster, cluster_at = self._entry("clusters", "cluster", _text(context, "cluster", at))
        url = _text(cluster, "server", cluster_at)
        if urlsplit(url).scheme not in ("http", "https"):
            raise KubeconfigInvalid(f"{cluster_at}.server: must be a URL of HTTP or HTTPS")
        user: JsonObject = {}
        user_at = ""
        if user_name := _text(context, "user", at):
            user, user_at = self._entry("users", "user", user_name)
        return WebhookAddress(
            url,
            self._trust(cluster, cluster_at, user, user_at),
            _text(cluster, "tls-server-name", cluster_at) or None,
            self.headers(user, user_at),
        )

    def users(self) -> Iterator[tuple[str, JsonObject, str]]:
        """Each with its name and its place in the file."""
        entries = self._document.get("users")
        if entries is not None and not isinstance(entries, list):
            raise KubeconfigInvalid("users: must be a list")
        for number, entry in enumerate(entries or ()):
            at = f"users[{number}]"
            if not isinstance(entry, dict):
                raise KubeconfigInvalid(f"{at}: must be an object")
            if not (name := _text(entry, "name", at)):
                raise KubeconfigInvalid(f"{at}.name: Required value")
            if not isinstance(user := entry.get("user") or {}, dict):
                raise KubeconfigInvalid(f"{at}.user: must be an object")
            yield name, user, f"{at}.user"

    def _entry(self, plural: str, singular: str, name: str) -> tuple[JsonObject, str]:
        entries = self._document.get(plural)
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, dict) and entry.get("name") == name:
                at = f"{plural}[{number}].{singular}"
                if not isinstance(found := entry.get(singular), dict):
                    raise KubeconfigInvalid(f"{at}: must be an object")
                return found, at
        raise KubeconfigInvalid(f"{plural}: there is none named {name!r}")

    def headers(self, user: JsonObject, at: str) -> dict[str, str]:
        token = _text(user, "token", at)
        if file := _text(user, "tokenFile", at):
            token = _content(self._folder / file, f"{at}.tokenFile").decode("utf-8", "replace")
        if token:
            return {"Authorization": f"Bearer {token.strip()}"}
        if name := _text(user, "username", at):
            pair = f"{name}:{_text(user, 'password', at)}".encode()
            return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
        return {}

    def _trust(
        self, cluster: JsonObject, cluster_at: str, user: JsonObject, user_at: str
    ) -> ssl.SSLContext | None:
        authorities = self.pem(cluster, "certificate-authority", cluster_at)
        certificate = self.pem(user, "client-certificate", user_at)
        key = self.pem(user, "client-key", user_at)
        is_insecure = cluster.get("insecure-skip-tls-verify") is True
        if not (authorities or certificate or is_insecure):
            return None
        try:
            text = authorities.decode("ascii") if authorities else None
            context = ssl.create_default_context(cadata=text)
        except (ssl.SSLError, UnicodeDecodeError) as error:
            why = "holds no certificates"
            raise KubeconfigInvalid(f"{cluster_at}.certificate-authority: {why}") from error
        if is_insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if certificate:
            load_pair(context, certificate, key, user_at)
        return context

    def pem(self, fields: JsonObject, name: str, at: str) -> bytes:
        if data := _text(fields, f"{name}-data", at):
            try:
                return base64.b64decode(data, validate=True)
            except binascii.Error as error:
                raise KubeconfigInvalid(f"{at}.{name}-data: is not base64") from error
        file = _text(fields, name, at)
        return _content(self._folder / file, f"{at}.{name}") if file else b""


def load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes, at: str) -> None:
    """``ssl`` reads pairs from files only; this one is gone as soon as it is read."""
    with tempfile.NamedTemporaryFile() as file:  # only its owner may read it
        file.write(certificate + b"\n" + key)
        file.flush()
        try:
            context.load_cert_chain(file.name)
        except ssl.SSLError as error:
            raise KubeconfigInvalid(f"{at}.client-certificate: is no pair with its key") from error


def _document(text: bytes) -> JsonObject:
    from proreus.api.wire import yaml  # slow to load, and most servers have no such file

    try:
        value: Any = yaml.decode_strict(text)[0]
    except ValueError as error:
        raise KubeconfigInvalid("it is not YAML") from error
    if not isinstance(value, dict):
        raise KubeconfigInvalid("it is not a mapping")
    return value


def _text(fields: JsonObject, name: str, at: str) -> str:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise KubeconfigInvalid(f"{at}.{name}: must be a string")
    return value or ""


def _content(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise KubeconfigInvalid(f"{what}: cannot be read: {error.strerror}") from error
