"""Each provider reads what it wrote, refuses what was tampered with, and writes as Kubernetes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.server.storage.encryption.configuration import (
    AesCbc,
    AesGcm,
    Identity,
    NamedKey,
    ResourceProviders,
    Secretbox,
)
from proreus.server.storage.encryption.envelope import (
    KEY,
    EncryptedSource,
    Envelope,
    seal,
    unseal,
)
from proreus.server.storage.encryption.rules import UNENCRYPTED, EncryptionRules, Transformers
from proreus.server.storage.encryption.transformers import (
    AesGcmKey,
    Transformer,
    Undecryptable,
    transformers_of,
)

KEYS = (NamedKey("one", b"k" * 32), NamedKey("two", b"l" * 32))
AT = "/registry/secrets/default/a"
PROVIDERS: dict[str, AesCbc | AesGcm | Secretbox] = {
    "aescbc": AesCbc(KEYS),
    "aesgcm": AesGcm(KEYS),
    "secretbox": Secretbox(KEYS),
}


@pytest.fixture(params=list(PROVIDERS))
def transformer(request: pytest.FixtureRequest) -> Transformer:
    return transformers_of(PROVIDERS[request.param])[0]


@given(value=st.binary(max_size=200))
def test_what_was_encrypted_is_decrypted(value: bytes) -> None:
    for provider in PROVIDERS.values():
        transformer = transformers_of(provider)[0]
        assert transformer.decrypt(AT, transformer.encrypt(AT, value)) == value
    source = EncryptedSource(b"c", "id")
    assert unseal(source, b"s" * 32, AT, seal(b"s" * 32, AT, value)) == value


def test_the_same_value_is_never_stored_as_the_same_bytes(transformer: Transformer) -> None:
    assert len({transformer.encrypt(AT, b"value") for _ in range(100)}) == 100


def test_values_begin_with_kubernetes_prefix() -> None:
    prefixes = [one.prefix for provider in PROVIDERS.values() for one in transformers_of(provider)]

    assert prefixes == [
        b"k8s:enc:aescbc:v1:one:", b"k8s:enc:aescbc:v1:two:",
        b"k8s:enc:aesgcm:v1:one:", b"k8s:enc:aesgcm:v1:two:",
        b"k8s:enc:secretbox:v1:one:", b"k8s:enc:secretbox:v1:two:",
    ]  # fmt: skip


@pytest.mark.parametrize("cut", [0, 1, 15, 16, 17, 30])
def test_what_was_cut_short_is_refused(transformer: Transformer, cut: int) -> None:
    with pytest.raises(Undecryptable):
        transformer.decrypt(AT, transformer.encrypt(AT, b"value")[:cut])


def test_a_value_moved_to_another_object_is_refused() -> None:
    transformer = AesGcmKey(KEYS[0])
    with pytest.raises(Undecryptable):
        transformer.decrypt("/registry/secrets/default/b", transformer.encrypt(AT, b"value"))
    with pytest.raises(Undecryptable):
        unseal(EncryptedSource(b"c", "id"), b"s" * 32, "/other", seal(b"s" * 32, AT, b"value"))


def test_an_envelope_is_read_as_it_was_written() -> None:
    source = EncryptedSource(b"cipher", "key-1", (("version.example.com", b"1"),), KEY)
    envelope = Envelope(source, b"data")

    assert Envelope.decode(envelope.encode()) == envelope
    assert "cipher" not in repr(envelope)
    for broken in (b"", b"\xff", b"\x0a\x01x"):
        with pytest.raises(Undecryptable):
            Envelope.decode(broken)


def test_the_first_entry_that_names_a_resource_decides() -> None:
    prefixes = {
        "secrets": "secrets",
        "services/specs": "services",
        "deployments": "deployments.apps",
    }
    first = ResourceProviders(("secrets", "crontabs.example.com"), (AesGcm(KEYS),))
    second = ResourceProviders(("*.apps", "*."), (Identity(),))
    made = [Transformers(tuple(transformers_of(AesGcm(KEYS)))) for _ in range(2)]
    rules = EncryptionRules([(first, made[0]), (second, made[1])], prefixes)

    assert rules.of("/registry/secrets/default/a") is made[0]
    assert rules.of("/registry/example.com/crontabs/default/a") is made[0]
    assert rules.of("/registry/deployments/default/a") is made[1]
    assert rules.of("/registry/services/specs/default/a") is made[1]
    assert rules.of("/registry/example.com/websites/default/a") is UNENCRYPTED
    assert rules.of("/registry/ranges/serviceips") is UNENCRYPTED
