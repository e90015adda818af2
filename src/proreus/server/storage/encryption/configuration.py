"""Reads an EncryptionConfiguration (apiserver.config.k8s.io/v1): which resources, which keys.

Faults are worded as kube-apiserver words them, with the field and without any secret.
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import field
from urllib.parse import urlsplit

from proreus.api import field_error
from proreus.api.values.duration import parse_duration
from proreus.lazy_dataclass import dataclass
from proreus.server.config_files.fields import ConfigFields, ConfigFileInvalid, decode_config

_API_VERSION, _KIND = "apiserver.config.k8s.io/v1", "EncryptionConfiguration"
_AESCBC, _AESGCM, _SECRETBOX, _IDENTITY, _KMS = "aescbc", "aesgcm", "secretbox", "identity", "kms"
_PROVIDERS = (_AESGCM, _AESCBC, _SECRETBOX, _IDENTITY, _KMS)
_SECRET_BYTES = {_AESCBC: (16, 24, 32), _AESGCM: (16, 24, 32), _SECRETBOX: (32,)}
_KMS_TIMEOUT_S = 3.0
_REDACTED = "REDACTED"


@dataclass(frozen=True, slots=True)
class NamedKey:
    name: str
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class AesCbc:
    """AES in CBC mode with PKCS#7 padding. Nothing proves that a value was not tampered with."""

    keys: tuple[NamedKey, ...]


@dataclass(frozen=True, slots=True)
class AesGcm:
    """AES in GCM mode with random nonces: a key must be replaced after 200,000 writes."""

    keys: tuple[NamedKey, ...]


@dataclass(frozen=True, slots=True)
class Secretbox:
    """XSalsa20 and Poly1305."""

    keys: tuple[NamedKey, ...]


@dataclass(frozen=True, slots=True)
class Identity:
    """Values as they are."""


@dataclass(frozen=True, slots=True)
class Kms:
    """A key management service behind a Unix socket, version 2 of its interface."""

    name: str
    endpoint: str
    timeout_s: float = _KMS_TIMEOUT_S


Provider = AesCbc | AesGcm | Secretbox | Identity | Kms


@dataclass(frozen=True, slots=True)
class ResourceProviders:
    """The first provider writes, all of them read. ``resources``: ``secrets``, ``*.apps``, …"""

    resources: tuple[str, ...]
    providers: tuple[Provider, ...]


@dataclass(frozen=True, slots=True)
class EncryptionConfiguration:
    """The first entry that names a resource decides for it."""

    entries: tuple[ResourceProviders, ...]

    def kms_providers(self) -> Iterator[Kms]:
        for entry in self.entries:
            for provider in entry.providers:
                if isinstance(provider, Kms):
                    yield provider


def parse_encryption(text: bytes) -> EncryptionConfiguration:
    """Raises ConfigFileInvalid."""
    document = decode_config(text, (_API_VERSION,), _KIND, ("resources",))
    entries = tuple(map(_entry, document.each("resources", ("resources", "providers"))))
    if not entries:
        raise _required("resources", "at least one resources is required")
    configuration = EncryptionConfiguration(entries)
    names = Counter(provider.name for provider in configuration.kms_providers())
    for name, times in names.items():
        if times > 1:
            raise _invalid(
                "resources", name, f"duplicate KMS provider name {name}, names must be unique"
            )
    return configuration


def _entry(entry: ConfigFields) -> ResourceProviders:
    resources = entry.strings("resources")
    providers = tuple(
        _provider(provider, entry.path(f"providers[{number}]"))
        for number, provider in enumerate(entry.each("providers", _PROVIDERS))
    )
    for name, values in (("resources", resources), ("providers", providers)):
        if not values:
            raise _required(entry.path(name), f"at least one resources[].{name} is required")
    for number, resource in enumerate(resources):
        if why := _resource_violation(resource, resources):
            raise _invalid(entry.path(f"resources[{number}]"), resource, why)
    return ResourceProviders(resources, providers)


# What is stored beside the objects of the API.
_NOT_SERVED = frozenset({"apiserveripinfo", "serviceipallocations", "servicenodeportallocations"})


def _resource_violation(name: str, siblings: Collection[str]) -> str:
    plural, _, group = name.partition(".")
    if name != name.lower():
        return "resource name should not contain capital letters"
    if name == "*":
        return (
            "use '*.' to encrypt all the resources from core API group or *.* to encrypt all "
            "resources"
        )
    if name in _NOT_SERVED:
        return "resources which do not have REST API/s cannot be encrypted"
    if group == "*" and plural != "*":
        return "encrypting the same resource across groups is not supported"
    if not plural:
        return "must be a plural in lower case with its group after a dot, '*.<group>' or '*.*'"
    if sum(other == name for other in siblings) > 1:
        return "duplicate of another resource in the list"
    if group == "extensions":
        return "'extensions' group has been removed and cannot be used for encryption"
    if name == "events.events.k8s.io":
        return (
            "'events.events.k8s.io' objects are stored using the 'events' API group in etcd. Use "
            "'events' instead in the config file"
        )
    for wider in ("*.*", f"*.{group}"):
        if wider != name and wider in siblings:
            return (
                f"using overlapping resources such as '{name}' and '{wider}' in the same resource "
                "list is not allowed as they will be masked"
            )
    return ""


def _provider(provider: ConfigFields, at: str) -> Provider:
    given = [name for name in _PROVIDERS if provider.has(name)]
    if len(given) > 1:
        raise ConfigFileInvalid(
            f"{at}: Invalid value: more than one provider specified in a single element, should "
            "split into different list elements"
        )
    match given:
        case ["aescbc" as name]:
            return AesCbc(_keys(provider, name))
        case ["aesgcm" as name]:
            return AesGcm(_keys(provider, name))
        case ["secretbox" as name]:
            return Secretbox(_keys(provider, name))
        case ["kms" as name]:
            known = ("apiVersion", "name", "endpoint", "timeout", "cachesize")
            fields = provider.fields(name, known)
            assert fields is not None
            return _kms(fields)
        case ["identity" as name]:
            provider.fields(name, ())
            return Identity()
        case _:
            raise ConfigFileInvalid(
                f"{at}: Invalid value: provider does not contain any of the expected providers: "
                "KMS, AESGCM, AESCBC, Secretbox, Identity"
            )


def _keys(provider: ConfigFields, name: str) -> tuple[NamedKey, ...]:
    fields = provider.fields(name, ("keys",))
    assert fields is not None
    keys = tuple(_key(key, _SECRET_BYTES[name]) for key in fields.each("keys", ("name", "secret")))
    if not keys:
        raise _required(fields.path("keys"), "at least one keys is required")
    return keys


def _key(key: ConfigFields, lengths: tuple[int, ...]) -> NamedKey:
    name, encoded = key.string("name"), key.string("secret")
    if not name:
        raise _required(key.path("name"), "name is a mandatory field for a key")
    if ":" in name:  # it is part of a prefix that ends with one
        raise _invalid(key.path("name"), name, "must not contain ':'")
    if not encoded:
        raise _required(key.path("secret"), "secret is a mandatory field for a key")
    try:
        secret = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise _invalid(key.path("secret"), _REDACTED, "secrets must be base64 encoded") from None
    if len(secret) not in lengths:
        raise _invalid(
            key.path("secret"),
            _REDACTED,
            f"secret is not of the expected length, got {len(secret)}, expected one of "
            f"[{' '.join(map(str, lengths))}]",
        )
    return NamedKey(name, secret)


def _kms(kms: ConfigFields) -> Kms:
    name, endpoint = kms.string("name"), kms.string("endpoint")
    if not name:
        raise _required(kms.path("name"), "name is a mandatory field for a provider")
    if ":" in name:
        why = f"invalid KMS provider name {name}, must not contain ':'"
        raise _invalid(kms.path("name"), name, why)
    if (version := kms.string("apiVersion") or "v1") != "v2":
        raise _invalid(kms.path("apiVersion"), version, "only version v2 is supported")
    if kms.has("cachesize"):
        raise ConfigFileInvalid(f"{kms.path('cachesize')}: cachesize is not supported in v2")
    if not endpoint:
        raise _required(kms.path("endpoint"), "endpoint is a mandatory field for a kms")
    if (scheme := urlsplit(endpoint).scheme) != "unix":
        why = f'unsupported scheme "{scheme}" for KMS provider, only unix is supported'
        raise _invalid(kms.path("endpoint"), endpoint, why)
    return Kms(name, endpoint, _timeout_s(kms))


def _timeout_s(kms: ConfigFields) -> float:
    text = kms.string("timeout")
    if not text:
        return _KMS_TIMEOUT_S
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise _invalid(kms.path("timeout"), text, str(error)) from None
    if seconds <= 0:
        raise _invalid(kms.path("timeout"), text, "timeout should be a positive value")
    return seconds


def _required(at: str, why: str) -> ConfigFileInvalid:
    return ConfigFileInvalid.of(field_error.required(at, why))


def _invalid(at: str, value: str, why: str) -> ConfigFileInvalid:
    return ConfigFileInvalid.of(field_error.invalid(at, value, why))
