"""A webhook's kubeconfig says where it is and how to be let in, or is refused in one sentence."""

from __future__ import annotations

import base64
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from proreus.api.wire import json
from proreus.server.webhooks.kubeconfig import KubeconfigInvalid, read_webhook_kubeconfig

Json = dict[str, Any]
SECRET = "s3cret"


def written(folder: Path, cluster: Json | None = None, user: Json | None = None) -> Path:
    path = folder / "webhook.kubeconfig"
    document = {
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "w", "user": "u"}}],
        "clusters": [{"name": "w", "cluster": cluster or {"server": "https://127.0.0.1:9/audit"}}],
        "users": [{"name": "u", "user": user or {}}],
    }
    path.write_bytes(json.encode(document))
    return path


@pytest.mark.parametrize(
    ("user", "header"),
    [
        ({}, None),
        ({"token": SECRET}, f"Bearer {SECRET}"),
        ({"tokenFile": "token"}, "Bearer from-file"),
        ({"username": "u", "password": "p"}, "Basic " + base64.b64encode(b"u:p").decode()),
    ],
)
def test_the_user_of_the_current_context_is_who_the_server_is(
    tmp_path: Path, user: Json, header: str | None
) -> None:
    (tmp_path / "token").write_text("from-file\n")

    address = read_webhook_kubeconfig(written(tmp_path, user=user))

    assert address.url == "https://127.0.0.1:9/audit"
    assert address.headers.get("Authorization") == header
    assert SECRET not in repr(address)


def test_authorities_and_client_certificates_come_from_files_or_inline(tmp_path: Path) -> None:
    authority = trustme.CA()
    pair = authority.issue_cert("client")
    (tmp_path / "ca.crt").write_bytes(authority.cert_pem.bytes())
    certificate = b"".join(blob.bytes() for blob in pair.cert_chain_pems)
    user = {
        "client-certificate-data": base64.b64encode(certificate).decode(),
        "client-key-data": base64.b64encode(pair.private_key_pem.bytes()).decode(),
    }
    cluster = {"server": "https://h", "certificate-authority": "ca.crt", "tls-server-name": "n"}

    address = read_webhook_kubeconfig(written(tmp_path, cluster, user))

    assert address.trust is not None
    assert address.trust.verify_mode is ssl.CERT_REQUIRED
    assert len(address.trust.get_ca_certs()) == 1
    assert address.server_name == "n"


def test_verification_is_off_only_if_the_file_says_so(tmp_path: Path) -> None:
    cluster = {"server": "https://h", "insecure-skip-tls-verify": True}

    address = read_webhook_kubeconfig(written(tmp_path, cluster))

    assert address.trust is not None
    assert address.trust.verify_mode is ssl.CERT_NONE


@pytest.mark.parametrize(
    ("cluster", "user", "why"),
    [
        ({"server": "file:///x"}, {}, "clusters[0].cluster.server: must be a URL"),
        ({"server": 1}, {}, "clusters[0].cluster.server: must be a string"),
        (
            {"server": "https://h", "certificate-authority": "none"},
            {},
            "clusters[0].cluster.certificate-authority: cannot be read: No such file",
        ),
        (
            {"server": "https://h", "certificate-authority-data": "%%"},
            {},
            "clusters[0].cluster.certificate-authority-data: is not base64",
        ),
        (
            {"server": "https://h", "certificate-authority-data": "eHh4"},
            {},
            "clusters[0].cluster.certificate-authority: holds no certificates",
        ),
        (None, {"tokenFile": "none"}, "users[0].user.tokenFile: cannot be read"),
        (
            None,
            {"client-certificate-data": "eHh4", "client-key-data": "czNjcmV0"},
            "users[0].user.client-certificate: is no pair with its key",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_file_and_field_and_without_its_secrets(
    tmp_path: Path, cluster: Json | None, user: Json, why: str
) -> None:
    path = written(tmp_path, cluster, {"password": SECRET, **user})

    with pytest.raises(KubeconfigInvalid) as refused:
        read_webhook_kubeconfig(path)

    assert str(refused.value).startswith(f"webhook configuration file {path}: {why}")
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[", "it is not YAML"),
        ("a", "it is not a mapping"),
        ("{}", "current-context: Required value"),
        ("current-context: x", "contexts: there is none named 'x'"),
        (
            "current-context: x\ncontexts: [{name: x, context: 1}]",
            "contexts[0].context: must be an object",
        ),
    ],
)
def test_a_file_that_names_no_webhook_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "webhook.kubeconfig"
    path.write_text(text)

    with pytest.raises(KubeconfigInvalid) as refused:
        read_webhook_kubeconfig(path)

    assert str(refused.value) == f"webhook configuration file {path}: {why}"
