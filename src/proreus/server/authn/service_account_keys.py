"""Keys of service accounts' tokens: one signs, all of them verify.

A server that is given no key makes one of its own when it first needs it, in a thread, and keeps it
in its data folder. It is RSA with 2048 bits, as Kubernetes' installers make them; folders that hold
an ECDSA key of before go on with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from proreus.net.private_files import read_private, write_private
from proreus.server.authn.options import AuthenticationInvalid
from proreus.server.offload import INLINE, Runner

if TYPE_CHECKING:
    from proreus.server.authn.jwt.keys import VerificationKey
    from proreus.server.authn.jwt.signatures import PrivateKey

_BITS = 2048


class ServiceAccountKeys:
    """``own_file`` keeps the server's own key, None: it lives as long as the server. Used only if
    there is no ``signing_key_file``; made in ``lane``. Raises AuthenticationInvalid."""

    def __init__(
        self,
        own_file: Path | None = None,
        signing_key_file: Path | None = None,
        key_files: Sequence[Path] = (),
        lane: Runner = INLINE,
    ) -> None:
        self._lane = lane
        self._own_file = own_file
        self._signing: PrivateKey | None = None
        self._verifying: list[VerificationKey] = []
        if signing_key_file is not None:
            self._sign_with(_private_key(signing_key_file))
            self._own_file = None
        for path in key_files:
            for key in _public_keys(path):
                self._add(key)

    async def signing(self) -> PrivateKey:
        """Found or made. Raises AuthenticationInvalid."""
        return self._found() or self._adopted(await self._lane.run(_make))

    def _adopted(self, made: PrivateKey) -> PrivateKey:
        if found := self._found():
            return found  # somebody else was faster
        if self._own_file is not None:
            write_private(self._own_file, _pem(made))
        self._sign_with(made)
        return made

    def named(self, key_id: str) -> Sequence[VerificationKey]:
        """Which keys may have signed a token that names this one, or none."""
        self._found()
        if not key_id:
            return self._verifying
        return [key for key in self._verifying if key.key_id == key_id]

    def public(self) -> Sequence[VerificationKey]:
        return self._verifying

    def _found(self) -> PrivateKey | None:
        """Looked for late: most servers check no such token in their first seconds, and loading the
        library takes as long as the rest of a start."""
        if self._signing is None and self._own_file is not None and self._own_file.exists():
            self._sign_with(_private_key(self._own_file))
        return self._signing

    def _sign_with(self, key: PrivateKey) -> None:
        self._signing = key
        self._add(_verification_key(key))

    def _add(self, key: VerificationKey) -> None:
        if key not in self._verifying:
            self._verifying.append(key)


def _make() -> PrivateKey:
    from cryptography.hazmat.primitives.asymmetric import rsa

    return rsa.generate_private_key(65537, _BITS)


def _pem(key: PrivateKey) -> bytes:
    from cryptography.hazmat.primitives import serialization

    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _verification_key(key: PrivateKey) -> VerificationKey:
    from proreus.server.authn.jwt.keys import VerificationKey, key_id

    public = key.public_key()
    return VerificationKey(key_id(public), public)


def _private_key(path: Path) -> PrivateKey:
    from proreus.server.authn.jwt.keys import parse_pem_private_key

    try:
        return parse_pem_private_key(read_private(path))
    except (ValueError, OSError) as error:
        raise _unusable(path, error) from error


def _public_keys(path: Path) -> Sequence[VerificationKey]:
    from proreus.server.authn.jwt.keys import VerificationKey, key_id, parse_pem_keys

    try:
        return [VerificationKey(key_id(key), key) for key in parse_pem_keys(path.read_bytes())]
    except (ValueError, OSError) as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, error: Exception) -> AuthenticationInvalid:
    why = error.strerror if isinstance(error, OSError) and error.strerror else error
    return AuthenticationInvalid(f"service account key file {path}: {why}")
