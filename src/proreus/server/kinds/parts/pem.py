"""PEM texts as Kubernetes reads them: signing requests, certificates, and what is wrong with them.

The wording is that of Go's parsers for the outermost mistakes. What is wrong deeper inside is named
by one phrase: it is the place a client cannot match on anyway.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from proreus.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from cryptography.x509 import CertificateSigningRequest

    from proreus.net.tls.signing_requests import SigningRequest

_BLOCK = re.compile(
    rb"^-----BEGIN ([^\n]*?)-----[ \t\r]*\n(.*?)^-----END \1-----[ \t\r]*$",
    re.DOTALL | re.MULTILINE,
)
_HEADER = re.compile(rb"[^:\n]+:[^\n]*")
_SEQUENCE = 0x30
_UNIVERSAL_SEQUENCE = 16
_ANY_SIGNATURE = "x509: signature verification failure"
_SIGNATURE_FAULTS = {
    "RSAPublicKey": "crypto/rsa: verification error",
    "ECPublicKey": "x509: ECDSA verification failure",
    "Ed25519PublicKey": "x509: Ed25519 verification failure",
}


@dataclass(frozen=True, slots=True)
class PemBlock:
    """The text between BEGIN and END; ``content`` is DER."""

    kind: str
    has_headers: bool
    content: bytes


def pem_blocks(text: bytes) -> Iterator[PemBlock]:
    """The blocks in their order; what is between them, or is no base64, is passed over."""
    for match in _BLOCK.finditer(text):
        lines = match[2].splitlines()
        count = 0
        while count < len(lines) and _HEADER.fullmatch(lines[count]):
            count += 1
        body = b"".join(b"".join(lines[count:]).split())
        try:
            content = base64.b64decode(body, validate=True)
        except binascii.Error:
            continue
        yield PemBlock(match[1].decode(errors="replace"), count > 0, content)


class Malformed(ValueError):
    """``str(error)`` is what Go says of it."""


def read_signing_request(text: bytes) -> CertificateSigningRequest:
    """Raises Malformed. Its signature is not verified."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.x509 import load_der_x509_csr

    block = next(pem_blocks(text), None)
    if block is None or block.kind != "CERTIFICATE REQUEST":
        raise Malformed("PEM block type must be CERTIFICATE REQUEST")
    if fault := _outer_fault(block.content):
        raise Malformed(fault)
    try:
        request = load_der_x509_csr(block.content)
        request.public_key()
    except ValueError as error:
        raise Malformed("asn1: structure error: malformed certificate request") from error
    except UnsupportedAlgorithm as error:
        raise Malformed("x509: cannot verify signature: algorithm unimplemented") from error
    return request


def signing_request_fault(text: bytes) -> str:
    """Why the text is no signing request that its own key has signed; empty if it is one."""
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        request = read_signing_request(text)
        _requested(request)
        if request.is_signature_valid:
            return ""
    except Malformed as fault:
        return str(fault)
    except ValueError:
        return "asn1: structure error: malformed certificate request"
    except UnsupportedAlgorithm:
        return "x509: cannot verify signature: algorithm unimplemented"
    return _SIGNATURE_FAULTS.get(type(request.public_key()).__name__, _ANY_SIGNATURE)


def requested(text: bytes) -> SigningRequest:
    """The subject and names a signing request asks for. Raises Malformed."""
    return _requested(read_signing_request(text))


def _requested(request: CertificateSigningRequest) -> SigningRequest:
    from proreus.net.tls.signing_requests import SigningRequest

    try:
        return SigningRequest.of(request)
    except ValueError as error:
        raise Malformed("x509: malformed extension") from error


def _outer_fault(der: bytes) -> str:
    """The error of Go for bytes that are not one whole sequence."""
    if not der:
        return "asn1: syntax error: sequence truncated"
    if len(der) < 2:
        return "asn1: syntax error: truncated tag or length"
    length, start = der[1], 2
    if length & 0x80:
        start += length & 0x7F
        if start > len(der):
            return "asn1: syntax error: truncated tag or length"
        length = int.from_bytes(der[2:start])
    if der[0] != _SEQUENCE:
        tag = (
            f"{{class:{der[0] >> 6} tag:{der[0] & 0x1F} length:{length} "
            f"isCompound:{'true' if der[0] & 0x20 else 'false'}}}"
        )
        return (
            f"asn1: structure error: tags don't match ({_UNIVERSAL_SEQUENCE} vs {tag}) "
            "{optional:false explicit:false application:false private:false defaultValue:<nil> "
            "tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false} certificateRequest "
            f"@{start}"
        )
    if start + length > len(der):
        return "asn1: syntax error: data truncated"
    return "asn1: syntax error: trailing data" if start + length < len(der) else ""


def certificate_fault(text: bytes) -> str:
    """Why the text is not one or more certificates and nothing else; empty if it is."""
    from cryptography.x509 import load_der_x509_certificate

    blocks = 0
    for block in pem_blocks(text):
        if block.kind != "CERTIFICATE":
            return f'only CERTIFICATE PEM blocks are allowed, found "{block.kind}"'
        if block.has_headers:
            return "no PEM block headers are permitted"
        blocks += 1
        if not block.content:
            return "found CERTIFICATE PEM block containing 0 certificates"
        try:
            load_der_x509_certificate(block.content)
        except ValueError:
            return "x509: malformed certificate"
    return "" if blocks else "must contain at least one CERTIFICATE PEM block"
