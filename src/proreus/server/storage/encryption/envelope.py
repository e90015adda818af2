"""Envelope encryption of KMS version 2: a seed encrypts values, the service encrypts the seed.

Each value is encrypted under a key of its own, derived from the seed and 32 random bytes that are
stored with it: HKDF-Expand with SHA-256, then AES-GCM with the object's path authenticated. A seed
can therefore be used without a bound that a cluster could reach.
"""

from __future__ import annotations

import os
from dataclasses import field

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from google.protobuf.message import DecodeError

from proreus.lazy_dataclass import dataclass
from proreus.server.storage.encryption.transformers import Undecryptable, open_gcm
from proreus.server.storage.protobuf_tables import message_classes

_INFO_BYTES = 32
_KEY_BYTES = 32
_NONCE_BYTES = 12
SEED_BYTES = 32
KEY, SEED = 0, 1  # what the service encrypted: a key for AES-GCM, or a seed of keys

_of = message_classes(
    "v2beta1",
    {
        "Annotation": "key:1:string value:2:bytes",
        "EncryptedObject": "encryptedData:1:bytes keyID:2:string encryptedDEKSource:3:bytes "
        "annotations:4:Annotation* encryptedDEKSourceType:5:int32",
    },
)
_EncryptedObject = _of("EncryptedObject")


@dataclass(frozen=True, slots=True)
class EncryptedSource:
    """A seed as the service encrypted it, and what it wants to see again to decrypt it."""

    ciphertext: bytes = field(repr=False)
    key_id: str
    annotations: tuple[tuple[str, bytes], ...] = ()
    kind: int = SEED


@dataclass(frozen=True, slots=True)
class Envelope:
    """A stored value: what was encrypted, and under which source."""

    source: EncryptedSource
    data: bytes = field(repr=False)

    def encode(self) -> bytes:
        encoded: bytes = _EncryptedObject(
            encryptedData=self.data,
            keyID=self.source.key_id,
            encryptedDEKSource=self.source.ciphertext,
            annotations=[{"key": key, "value": value} for key, value in self.source.annotations],
            encryptedDEKSourceType=self.source.kind,
        ).SerializeToString()
        return encoded

    @classmethod
    def decode(cls, stored: bytes) -> Envelope:
        """Raises Undecryptable."""
        try:
            found = _EncryptedObject.FromString(stored)
        except DecodeError:
            raise Undecryptable("the envelope cannot be decoded") from None
        if not found.encryptedData or not found.keyID or not found.encryptedDEKSource:
            raise Undecryptable("the envelope is not complete")
        if found.encryptedDEKSourceType not in (KEY, SEED):
            raise Undecryptable("the envelope has a source of an unknown type")
        annotations = tuple(sorted((one.key, one.value) for one in found.annotations))
        source = EncryptedSource(
            found.encryptedDEKSource, found.keyID, annotations, found.encryptedDEKSourceType
        )
        return cls(source, found.encryptedData)


def seal(seed: bytes, key: str, value: bytes) -> bytes:
    info, nonce = os.urandom(_INFO_BYTES), os.urandom(_NONCE_BYTES)
    return info + nonce + _derived(seed, info).encrypt(nonce, value, key.encode())


def unseal(source: EncryptedSource, secret: bytes, key: str, data: bytes) -> bytes:
    """``secret`` is the source decrypted. Raises Undecryptable."""
    if source.kind == KEY:
        return open_gcm(AESGCM(secret), data, key.encode())
    info, rest = data[:_INFO_BYTES], data[_INFO_BYTES:]
    return open_gcm(_derived(secret, info), rest, key.encode())


def _derived(seed: bytes, info: bytes) -> AESGCM:
    return AESGCM(HKDFExpand(SHA256(), _KEY_BYTES, info).derive(seed))
