"""An encryption configuration is read whole, or refused with the field and without any secret."""

from __future__ import annotations

import base64
from typing import Any

import pytest
import yaml

from proreus.server.config_files.fields import ConfigFileInvalid
from proreus.server.storage.encryption.configuration import (
    AesCbc,
    AesGcm,
    Identity,
    Kms,
    NamedKey,
    Secretbox,
    parse_encryption,
)

KEY = base64.b64encode(b"k" * 32).decode()
SHORT = base64.b64encode(b"top-secret").decode()


def text(*entries: Any) -> bytes:
    header = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration"}
    return yaml.safe_dump({**header, "resources": list(entries)}).encode()


def entry(*providers: Any, resources: tuple[str, ...] = ("secrets",)) -> dict[str, Any]:
    return {"resources": list(resources), "providers": list(providers)}


def keys(secret: str = KEY, name: str = "one") -> dict[str, Any]:
    return {"keys": [{"name": name, "secret": secret}]}


def kms(**fields: Any) -> dict[str, Any]:
    return {"kms": {"apiVersion": "v2", "name": "k", "endpoint": "unix:///run/kms.sock", **fields}}


def test_every_provider_is_read_in_order() -> None:
    providers = [
        {"aescbc": keys()}, {"aesgcm": keys()}, {"secretbox": keys()}, kms(timeout="5s"),
        {"identity": {}},
    ]  # fmt: skip

    found = parse_encryption(text(entry(*providers, resources=("secrets", "*.apps"))))

    named = (NamedKey("one", b"k" * 32),)
    assert found.entries[0].resources == ("secrets", "*.apps")
    assert found.entries[0].providers == (
        AesCbc(named), AesGcm(named), Secretbox(named), Kms("k", "unix:///run/kms.sock", 5.0),
        Identity(),
    )  # fmt: skip
    assert "kkkk" not in repr(found)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([], "resources: Required value: at least one resources is required"),
        ([entry()], "resources[0].providers: Required value: at least one resources[].providers is"
         " required"),
        ([entry({"identity": {}}, resources=())], "resources[0].resources: Required value: at least"
         " one resources[].resources is required"),
        ([entry({})], "resources[0].providers[0]: Invalid value: provider does not contain any of "
         "the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity"),
        ([entry({"identity": {}, "aesgcm": keys()})], "resources[0].providers[0]: Invalid value: "
         "more than one provider specified in a single element, should split into different list "
         "elements"),
        ([entry({"rot13": {}})], 'unknown field "resources[0].providers[0].rot13"'),
        ([entry({"aescbc": keys(SHORT)})], "resources[0].providers[0].aescbc.keys[0].secret: "
         'Invalid value: "REDACTED": secret is not of the expected length, got 10, expected one of '
         "[16 24 32]"),
        ([entry({"secretbox": keys("top-secret!")})], "resources[0].providers[0].secretbox.keys[0]."
         'secret: Invalid value: "REDACTED": secrets must be base64 encoded'),
        ([entry({"aesgcm": keys("")})], "resources[0].providers[0].aesgcm.keys[0].secret: Required "
         "value: secret is a mandatory field for a key"),
        ([entry({"aesgcm": keys(name="")})], "resources[0].providers[0].aesgcm.keys[0].name: "
         "Required value: name is a mandatory field for a key"),
        ([entry({"aesgcm": {"keys": []}})], "resources[0].providers[0].aesgcm.keys: Required value:"
         " at least one keys is required"),
        ([entry(kms(endpoint="tcp://a"))], "resources[0].providers[0].kms.endpoint: Invalid value: "
         '"tcp://a": unsupported scheme "tcp" for KMS provider, only unix is supported'),
        ([entry(kms(), kms())], 'resources: Invalid value: "k": duplicate KMS provider name k, '
         "names must be unique"),
        ([entry(kms(name="a:b"))], 'resources[0].providers[0].kms.name: Invalid value: "a:b": '
         "invalid KMS provider name a:b, must not contain ':'"),
        ([entry(kms(timeout="0s"))], 'resources[0].providers[0].kms.timeout: Invalid value: "0s": '
         "timeout should be a positive value"),
        ([entry({"identity": {}}, resources=("secrets", "*."))], "resources[0].resources[0]: "
         "Invalid value: \"secrets\": using overlapping resources such as 'secrets' and '*.' in the"
         " same resource list is not allowed as they will be masked"),
        ([entry({"identity": {}}, resources=("*.apps", "*.*"))], "resources[0].resources[0]: "
         "Invalid value: \"*.apps\": using overlapping resources such as '*.apps' and '*.*' in the "
         "same resource list is not allowed as they will be masked"),
        ([entry({"identity": {}}, resources=("ingresses.extensions",))], "resources[0].resources[0]"
         ": Invalid value: \"ingresses.extensions\": 'extensions' group has been removed and cannot"
         " be used for encryption"),
        ([entry({"identity": {}}, resources=("Secrets",))], "resources[0].resources[0]: Invalid "
         'value: "Secrets": resource name should not contain capital letters'),
        ([entry({"identity": {}}, resources=("*",))], "resources[0].resources[0]: Invalid value: "
         "\"*\": use '*.' to encrypt all the resources from core API group or *.* to encrypt all "
         "resources"),
        ([entry({"identity": {}}, resources=("secrets.*",))], "resources[0].resources[0]: Invalid "
         'value: "secrets.*": encrypting the same resource across groups is not supported'),
        ([entry({"identity": {}}, resources=("serviceipallocations",))], "resources[0].resources[0]"
         ': Invalid value: "serviceipallocations": resources which do not have REST API/s cannot '
         "be encrypted"),
    ],
)  # fmt: skip
def test_a_wrong_configuration_is_refused_in_one_sentence(entries: Any, message: str) -> None:
    with pytest.raises(ConfigFileInvalid) as refused:
        parse_encryption(text(*entries))

    assert str(refused.value) == message
    assert SHORT not in str(refused.value)
    assert "top-secret" not in str(refused.value)
