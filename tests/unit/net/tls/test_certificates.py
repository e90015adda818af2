"""Keys and certificates made at first start."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from proreus.net.tls import certificates, contexts, issuing

NOW = 1_800_000_000.0
YEAR_S = 365 * 86400


def made(folder: Path, *hosts: str, now: float = NOW) -> certificates.TlsFiles:
    return certificates.ensure_files(
        folder, hosts or ("localhost",), admin="admin", groups=("masters",), now=now
    )


def test_keys_are_for_their_owner_only(tmp_path: Path) -> None:
    made(tmp_path)

    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}


def test_a_second_start_keeps_what_clients_trust(tmp_path: Path) -> None:
    first = made(tmp_path).server.read()

    assert made(tmp_path).server.read() == first


def test_another_host_or_an_old_certificate_makes_a_new_one(tmp_path: Path) -> None:
    files = made(tmp_path)
    first, authority = files.server.read(), files.authority.read()

    moved = made(tmp_path, "localhost", "10.1.2.3", "::1").server.read()
    aged = made(tmp_path, now=NOW + 3 * YEAR_S).server.read()

    assert len({first, moved, aged}) == 3
    assert files.authority.read() == authority


def test_a_certificate_that_is_none_is_replaced(tmp_path: Path) -> None:
    files = made(tmp_path)
    files.server.certificate.write_bytes(b"torn")

    made(tmp_path)

    assert b"BEGIN CERTIFICATE" in files.server.certificate.read_bytes()


def test_a_client_certificate_says_who_its_holder_is(tmp_path: Path) -> None:
    files = made(tmp_path)
    described = ssl._ssl._test_decode_cert(  # type: ignore[attr-defined]  # no public reader
        str(files.admin.certificate)
    )

    assert certificates.subject_of(described) == ("admin", ("masters",))


def test_the_servers_context_asks_for_certificates_but_does_not_insist(tmp_path: Path) -> None:
    files = made(tmp_path)

    context = contexts.server_context(files.server, files.authority.certificate.read_text())

    assert context.verify_mode is ssl.CERT_OPTIONAL


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "example.com"])
def test_names_and_addresses_are_recognised_again(tmp_path: Path, host: str) -> None:
    first = made(tmp_path, host).server.read()

    assert made(tmp_path, host).server.read() == first


def test_the_certificate_for_kubelets_names_no_group(tmp_path: Path) -> None:
    files = made(tmp_path)
    authority = files.authority.read()
    powerful = issuing.issue_client(
        authority, certificates.KUBELET_CLIENT, ("system:masters",), now=NOW
    )
    files.kubelet_client.certificate.write_bytes(powerful.certificate)
    files.kubelet_client.key.write_bytes(powerful.key)

    made(tmp_path)

    described = ssl._ssl._test_decode_cert(  # type: ignore[attr-defined]  # no public reader
        str(files.kubelet_client.certificate)
    )
    assert certificates.subject_of(described) == ("kube-apiserver-kubelet-client", ())
