"""The TLS side of a client: which servers it trusts and which certificate it shows.

Files are looked at again at most once a second, by their time stamps; a change of content gives a
new context, and with it new connections. What cannot be read or parsed any more is reported, and
the last good context stays.
"""

from __future__ import annotations

import logging
import ssl
from dataclasses import dataclass
from pathlib import Path

from proreus.aio.clock import Clock
from proreus.client.client_config import ConfigError, TlsSettings
from proreus.client.credentials.source import Credential

log = logging.getLogger(__name__)
_LOOK_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class _Material:
    """Everything a context is made of; equal materials make equal contexts."""

    ca: bytes | None
    cert: bytes | None
    key: bytes | None


class TlsIdentity:
    """``context`` is the same object for as long as connections may be shared."""

    def __init__(self, settings: TlsSettings, clock: Clock) -> None:
        if settings.insecure and (settings.ca_file or settings.ca_data):
            raise ConfigError("insecure TLS together with a certificate authority; keep one")
        self._settings = settings
        self._clock = clock
        self._looked_at = float("-inf")
        self._stamps: tuple[object, ...] = ()
        self._credential = Credential()
        self._material: _Material | None = None
        self._context: ssl.SSLContext | None = None

    def context(self, credential: Credential) -> ssl.SSLContext:
        """For a new connection. Raises ``ConfigError`` if there never was a good one."""
        now = self._clock.monotonic()
        is_due = now - self._looked_at >= _LOOK_EVERY_S
        is_new = (credential.cert_data, credential.key_data) != (
            self._credential.cert_data,
            self._credential.key_data,
        )
        if self._context is None or is_new or is_due:
            self._looked_at, self._credential = now, credential
            stamps = tuple(_stamp(path) for path in self._files())
            if self._context is None or is_new or stamps != self._stamps:
                self._stamps = stamps
                self._renew(credential)
        assert self._context is not None, "the first context is built or raises"
        return self._context

    def _files(self) -> list[Path]:
        settings = self._settings
        named = (settings.ca_file, settings.cert_file, settings.key_file)
        return [path for path in named if path is not None]

    def _renew(self, credential: Credential) -> None:
        settings = self._settings
        try:
            material = _Material(
                ca=_content("certificate authority", settings.ca_data, settings.ca_file),
                cert=credential.cert_data
                or _content("client certificate", settings.cert_data, settings.cert_file),
                key=credential.key_data
                or _content("client key", settings.key_data, settings.key_file),
            )
            if material == self._material:
                return
            self._context = _build(material, settings)
            self._material = material
        except ConfigError as problem:
            if self._context is None:
                raise
            log.warning("keeping the TLS settings of before: %s", problem)


def _content(what: str, given: bytes | None, path: Path | None) -> bytes | None:
    if given is not None:
        return given
    if path is None:
        return None
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise ConfigError(f"{what} {path}: cannot be read: {problem.strerror}") from problem
    if not content.strip():
        raise ConfigError(f"{what} {path}: is empty")
    return content


def _build(material: _Material, settings: TlsSettings) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if settings.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif material.ca is not None:
        try:
            context.load_verify_locations(cadata=material.ca.decode("ascii"))
        except (ssl.SSLError, ValueError) as problem:
            where = settings.ca_file or "given as data"
            raise ConfigError(f"certificate authority {where}: no certificates in it") from problem
    else:
        context.load_default_certs()
    if material.cert is not None:
        if material.key is None:
            raise ConfigError("a client certificate without its key")
        _load_certificate(context, material.cert, material.key, settings)
    return context


def _load_certificate(
    context: ssl.SSLContext, cert: bytes, key: bytes, settings: TlsSettings
) -> None:
    import tempfile  # it brings half of the compression libraries along

    # The ssl module reads only files, so the pair spends this moment in a folder of our own.
    with tempfile.TemporaryDirectory(prefix="proreus-") as folder:
        pair = Path(folder, "pair.pem")
        pair.touch(mode=0o600)
        pair.write_bytes(cert.rstrip() + b"\n" + key)
        try:
            context.load_cert_chain(pair, password=b"")
        except (ssl.SSLError, ValueError) as problem:
            where = settings.cert_file or "given as data"
            raise ConfigError(
                f"client certificate {where}: it and its key do not make a pair: {problem}"
            ) from problem


def _stamp(path: Path) -> object:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)
