"""What a PKCS #10 signing request asks to be certified, as plain values.

Importing this loads ``cryptography``.
"""

from __future__ import annotations

from cryptography import x509
from cryptography.x509.oid import NameOID

from proreus.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SigningRequest:
    """Of several common names the last counts, as in Go and in a verified peer's certificate."""

    common_name: str = ""
    organizations: tuple[str, ...] = ()
    dns_names: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    ip_addresses: tuple[str, ...] = ()
    uris: tuple[str, ...] = ()

    @classmethod
    def of(cls, request: x509.CertificateSigningRequest) -> SigningRequest:
        """Raises ValueError for extensions that are malformed."""
        common_names = _values(request.subject, NameOID.COMMON_NAME)
        names = alternative_names(request)
        return cls(
            common_name=common_names[-1] if common_names else "",
            organizations=_values(request.subject, NameOID.ORGANIZATION_NAME),
            dns_names=tuple(n.value for n in names if isinstance(n, x509.DNSName)),
            emails=tuple(n.value for n in names if isinstance(n, x509.RFC822Name)),
            ip_addresses=tuple(str(n.value) for n in names if isinstance(n, x509.IPAddress)),
            uris=tuple(n.value for n in names if isinstance(n, x509.UniformResourceIdentifier)),
        )


def alternative_names(request: x509.CertificateSigningRequest) -> tuple[x509.GeneralName, ...]:
    """Raises ValueError for extensions that are malformed."""
    try:
        found = request.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return ()
    except x509.DuplicateExtension as error:
        raise ValueError(str(error)) from error
    return tuple(found.value)


def _values(subject: x509.Name, kind: x509.ObjectIdentifier) -> tuple[str, ...]:
    found = (attribute.value for attribute in subject.get_attributes_for_oid(kind))
    return tuple(v if isinstance(v, str) else v.decode(errors="replace") for v in found)
