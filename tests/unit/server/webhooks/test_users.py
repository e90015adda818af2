"""The users of webhooks: which one is whose, and what a kubeconfig must not say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trustme

from proreus.api.wire import json
from proreus.server.admission.configuration_file import read_admission_configuration
from proreus.server.config_files.fields import ConfigFileInvalid
from proreus.server.webhooks.kubeconfig import KubeconfigInvalid
from proreus.server.webhooks.users import ANONYMOUS_USER, WebhookUser, WebhookUsers
from proreus.server.webhooks.users import read_webhook_users as read


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("a.example.com:8443", ["a.example.com:8443", "*.example.com:8443", "*.com:8443", "*"]),
        (
            "a.example.com:443",
            ["a.example.com:443", "*.example.com:443", "*.com:443", "a.example.com",
             "*.example.com", "*.com", "*"],
        ),
        ("hook.ns.svc:443", ["hook.ns.svc:443", "hook.ns.svc", "*.ns.svc", "*.svc", "*"]),
        ("127.0.0.1:9000", ["127.0.0.1:9000", "*"]),
    ],
)  # fmt: skip
def test_the_user_with_the_name_that_fits_best_is_taken(address: str, names: list[str]) -> None:
    users = {name: WebhookUser({"Authorization": name}) for name in names}
    other = {"b.example.com:8443": WebhookUser(), "a.example.com:80": WebhookUser()}

    while users:
        assert WebhookUsers({**other, **users}).of(address) is users[names[0]]
        del users[names.pop(0)]
    assert WebhookUsers(other).of(address) is ANONYMOUS_USER


PAIR = trustme.CA().issue_cert("localhost")


@pytest.mark.parametrize(
    ("users", "why"),
    [
        ({}, "users: must be a list"),
        ([1], "users[0]: must be an object"),
        ([{"user": {}}], "users[0].name: Required value"),
        ([{"name": "a", "user": []}, {"name": "b", "user": "x"}], "users[1].user: must be an obj"),
        ([{"name": "a", "user": {"token": 5}}], "users[0].user.token: must be a string"),
        ([{"name": "a", "user": {"tokenFile": "nowhere"}}], "users[0].user.tokenFile: cannot be"),
        ([{"name": "a", "user": {"exec": {}}}], "users[0].user.exec: is not supported"),
        ([{"name": "a", "user": {"as": "b"}}], "users[0].user.as: is not supported"),
        (
            [{"name": "a", "user": {"client-certificate": "cert.pem"}}],
            "users[0].user.client-certificate: is no pair with its key",
        ),
        (
            [{"name": "a", "user": {"client-key": "key.pem"}}],
            "users[0].user.client-certificate: is no pair with its key",
        ),
        (
            [{"name": "a", "user": {"client-key-data": "***"}}],
            "users[0].user.client-key-data: is not base64",
        ),
    ],
)
def test_a_wrong_user_is_refused_with_its_file_and_field(
    tmp_path: Path, users: Any, why: str
) -> None:
    (tmp_path / "cert.pem").write_bytes(PAIR.cert_chain_pems[0].bytes())
    (tmp_path / "key.pem").write_bytes(PAIR.private_key_pem.bytes())
    file = tmp_path / "users.yaml"
    file.write_bytes(json.encode({"users": users}))

    with pytest.raises(KubeconfigInvalid) as refused:
        read(file)

    assert f"kubeconfig {file}: {why}" in str(refused.value)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"kubeConfigFile": "beside.yaml"},
            'kubeConfigFile: Invalid value: "beside.yaml": must be',
        ),
        ({"kubeConfigFile": "/nowhere/at/all"}, "kubeconfig /nowhere/at/all: it: cannot be read"),
        ({"kubeconfig": "/x"}, 'unknown field "kubeconfig"'),
        ({"kind": "WebhookAdmission"}, 'kind: Unsupported value: "WebhookAdmission"'),
        ({"apiVersion": "v1"}, 'apiVersion: Unsupported value: "v1"'),
    ],
)
def test_a_wrong_configuration_is_refused_with_its_file_and_field(
    tmp_path: Path, change: dict[str, str], why: str
) -> None:
    own = {
        "kind": "WebhookAdmissionConfiguration",
        "apiVersion": "apiserver.config.k8s.io/v1",
        **change,
    }
    file = tmp_path / "admission.yaml"
    plugin = {"name": "MutatingAdmissionWebhook", "configuration": own}
    whole = {"kind": "AdmissionConfiguration", "apiVersion": "apiserver.config.k8s.io/v1"}
    file.write_bytes(json.encode({**whole, "plugins": [plugin]}))

    with pytest.raises(ConfigFileInvalid) as refused:
        read_admission_configuration(file)

    assert str(refused.value).startswith(f"admission configuration file {file}: {why}")
