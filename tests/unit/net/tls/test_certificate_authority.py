"""Client certificates of the cluster's authority."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography import x509

from proreus.net.tls.certificate_authority import CertificateAuthority, NoAuthority
from proreus.net.tls.certificates import ensure_files

NOW = 1_800_000_000.0
HOUR_S, YEAR_S = 3600.0, 365 * 86400.0


@pytest.fixture
def authority(tmp_path: Path) -> CertificateAuthority:
    ensure_files(tmp_path, ["localhost"], admin="admin", groups=(), now=NOW)
    return CertificateAuthority.of(tmp_path)


def test_a_certificate_names_its_user_and_groups_and_ends_when_asked(
    authority: CertificateAuthority,
) -> None:
    pair = authority.issue_client("system:node:n", ["system:nodes"], lasts_s=HOUR_S, now=NOW)

    made = x509.load_pem_x509_certificate(pair.certificate)
    assert made.subject.rfc4514_string() == "CN=system:node:n,O=system:nodes"
    assert made.not_valid_after_utc.timestamp() == NOW + HOUR_S
    made.verify_directly_issued_by(x509.load_pem_x509_certificate(authority.certificate))


def test_no_certificate_outlives_its_authority(authority: CertificateAuthority) -> None:
    pair = authority.issue_client("jane", lasts_s=100 * YEAR_S, now=NOW)

    made = x509.load_pem_x509_certificate(pair.certificate)
    own = x509.load_pem_x509_certificate(authority.certificate)
    assert made.not_valid_after_utc == own.not_valid_after_utc


def test_a_folder_without_an_authority_is_said_to_have_none(tmp_path: Path) -> None:
    with pytest.raises(NoAuthority, match=str(tmp_path)):
        CertificateAuthority.of(tmp_path)


def test_a_key_is_in_no_repr(authority: CertificateAuthority) -> None:
    pair = authority.issue_client("jane", lasts_s=HOUR_S, now=NOW)

    assert "PRIVATE KEY" not in repr(pair)
