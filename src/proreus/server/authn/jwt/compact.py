"""The compact form of a signed token: ``header.claims.signature``, each in base64 for URLs."""

from __future__ import annotations

import base64
import re
from typing import Any

from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass

_BASE64 = re.compile(r"[A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True, repr=False)
class CompactToken:
    """Nothing of it may be believed before its signature is verified."""

    algorithm: str
    key_id: str
    claims: dict[str, Any]
    signed: bytes  # what the signature is about
    signature: bytes

    @property
    def issuer(self) -> str:
        issuer = self.claims.get("iss")
        return issuer if isinstance(issuer, str) else ""


def parse_compact(token: str) -> CompactToken | None:
    """None for what is no such token."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        header, claims = json.decode(decoded(parts[0])), json.decode(decoded(parts[1]))
        signature = decoded(parts[2])
    except ValueError:
        return None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        return None
    algorithm, key_id = header.get("alg"), header.get("kid") or ""
    if not isinstance(algorithm, str) or not isinstance(key_id, str):
        return None
    return CompactToken(algorithm, key_id, claims, token.rpartition(".")[0].encode(), signature)


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    """Raises ValueError."""
    if not _BASE64.fullmatch(text):
        raise ValueError("not base64 for URLs")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
