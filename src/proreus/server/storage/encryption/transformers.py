"""Encrypts and decrypts one value, byte for byte as kube-apiserver stores it.

A stored value begins with ``k8s:enc:<provider>:v1:<key name>:``. What has no such prefix is plain.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Sequence
from typing import Protocol, assert_never

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.padding import PKCS7

from proreus.server.storage.encryption.configuration import (
    AesCbc,
    AesGcm,
    Identity,
    NamedKey,
    Secretbox,
)

ENCRYPTED = b"k8s:enc:"
_BLOCK_BYTES = 16
_NONCE_BYTES = 12


class Undecryptable(Exception):
    """The value cannot be decrypted with the keys at hand, now and later. It quotes no content."""


class Transformer(Protocol):
    """One key of one provider. ``prefix`` is what its values begin with."""

    prefix: bytes

    def encrypt(self, key: str, value: bytes) -> bytes:
        """``key`` is where the value is stored; some providers refuse it anywhere else."""
        ...

    def decrypt(self, key: str, stored: bytes) -> bytes:
        """``stored`` comes without the prefix. Raises Undecryptable."""
        ...

    def prepare(self, stored: bytes) -> Awaitable[None] | None:
        """What must be awaited before ``stored`` can be decrypted; None: nothing.

        Raises Undecryptable; awaited, Unavailable too.
        """
        ...

    def is_stale(self, stored: bytes) -> bool:
        """Whether this transformer would write the value under another key by now."""
        ...


class LocalKey:
    """A transformer whose key is at hand and never replaced by another of the same name."""

    def __init__(self, provider: bytes, key_name: str) -> None:
        self.prefix = b"k8s:enc:%s:v1:%s:" % (provider, key_name.encode())

    def prepare(self, stored: bytes) -> None:
        return None

    def is_stale(self, stored: bytes) -> bool:
        return False


class AesCbcKey(LocalKey):
    def __init__(self, key: NamedKey) -> None:
        super().__init__(b"aescbc", key.name)
        self._cipher = AES(key.secret)

    def encrypt(self, key: str, value: bytes) -> bytes:
        vector = os.urandom(_BLOCK_BYTES)
        padder = PKCS7(AES.block_size).padder()
        encryptor = Cipher(self._cipher, CBC(vector)).encryptor()
        padded = padder.update(value) + padder.finalize()
        return vector + encryptor.update(padded) + encryptor.finalize()

    def decrypt(self, key: str, stored: bytes) -> bytes:
        vector, encrypted = stored[:_BLOCK_BYTES], stored[_BLOCK_BYTES:]
        if len(vector) < _BLOCK_BYTES:
            raise Undecryptable("the stored data was shorter than the required size")
        if not encrypted or len(encrypted) % _BLOCK_BYTES:
            raise Undecryptable("the stored data is not a multiple of the block size")
        decryptor = Cipher(self._cipher, CBC(vector)).decryptor()
        unpadder = PKCS7(AES.block_size).unpadder()
        try:
            padded = decryptor.update(encrypted) + decryptor.finalize()
            return unpadder.update(padded) + unpadder.finalize()
        except ValueError:
            raise Undecryptable("invalid padding on input") from None


class AesGcmKey(LocalKey):
    """The path of the object is authenticated: a value moved to another object is refused."""

    def __init__(self, key: NamedKey) -> None:
        super().__init__(b"aesgcm", key.name)
        self._cipher = AESGCM(key.secret)

    def encrypt(self, key: str, value: bytes) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, value, key.encode())

    def decrypt(self, key: str, stored: bytes) -> bytes:
        return open_gcm(self._cipher, stored, key.encode())


def open_gcm(cipher: AESGCM, stored: bytes, authenticated: bytes) -> bytes:
    """A nonce and what was encrypted with it. Raises Undecryptable."""
    try:
        return cipher.decrypt(stored[:_NONCE_BYTES], stored[_NONCE_BYTES:], authenticated)
    except InvalidTag:
        raise Undecryptable("message authentication failed") from None
    except ValueError:
        raise Undecryptable("the stored data was shorter than the required size") from None


class SecretboxKey(LocalKey):
    """Needs PyNaCl, which is loaded only if a configuration has such a key."""

    def __init__(self, key: NamedKey) -> None:
        from nacl.secret import SecretBox

        super().__init__(b"secretbox", key.name)
        self._box = SecretBox(key.secret)

    def encrypt(self, key: str, value: bytes) -> bytes:
        return bytes(self._box.encrypt(value))

    def decrypt(self, key: str, stored: bytes) -> bytes:
        from nacl.exceptions import CryptoError

        try:
            return bytes(self._box.decrypt(stored))
        except (CryptoError, ValueError):
            raise Undecryptable("message authentication failed") from None


class Plain(LocalKey):
    """A value as it is. One that is encrypted was not written by this provider."""

    def __init__(self) -> None:
        self.prefix = b""

    def encrypt(self, key: str, value: bytes) -> bytes:
        return value

    def decrypt(self, key: str, stored: bytes) -> bytes:
        if stored.startswith(ENCRYPTED):
            raise Undecryptable("identity transformer tried to read encrypted data")
        return stored


def transformers_of(provider: AesCbc | AesGcm | Secretbox | Identity) -> Sequence[Transformer]:
    """One for each key; the first writes. Raises ImportError where a library is missing."""
    match provider:
        case AesCbc(keys):
            return [AesCbcKey(key) for key in keys]
        case AesGcm(keys):
            return [AesGcmKey(key) for key in keys]
        case Secretbox(keys):
            return [SecretboxKey(key) for key in keys]
        case Identity():
            return [Plain()]
        case _:
            assert_never(provider)
