"""Files of certificate authorities, whose clients are let in."""

from __future__ import annotations

import re
import ssl
from hashlib import sha256
from pathlib import Path

from proreus.lazy_dataclass import dataclass
from proreus.server.authn.options import AuthenticationInvalid

_BLOCK = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Authorities:
    """``digests``: of each certificate, by which an authority is recognised."""

    pem: str = ""
    digests: frozenset[str] = frozenset()

    @classmethod
    def read(cls, path: Path, flag: str) -> Authorities:
        """``flag`` names the option that names the file. Raises AuthenticationInvalid."""
        try:
            return cls.parse(path.read_text())
        except OSError as error:
            raise AuthenticationInvalid(f"{flag} {path}: {error.strerror}") from error
        except ValueError as error:
            why = "data does not contain any valid RSA or ECDSA certificates"
            raise AuthenticationInvalid(f"{flag} {path}: {why}") from error

    @classmethod
    def parse(cls, pem: str) -> Authorities:
        """Raises ValueError."""
        blocks = _BLOCK.findall(pem)
        if not blocks:
            raise ValueError("no certificates")
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata="\n".join(blocks))
        except ssl.SSLError as error:
            raise ValueError("not certificates") from error
        packed = map(ssl.PEM_cert_to_DER_cert, blocks)
        digests = frozenset(sha256(one).hexdigest() for one in packed)
        return cls("".join(f"{block}\n" for block in blocks), digests)

    def __add__(self, other: Authorities) -> Authorities:
        known = set(_BLOCK.findall(self.pem))
        new = [block for block in _BLOCK.findall(other.pem) if block not in known]
        pem = self.pem + "".join(f"{block}\n" for block in new)
        return Authorities(pem, self.digests | other.digests)
