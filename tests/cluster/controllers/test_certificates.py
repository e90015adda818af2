"""Requests for certificates, from their creation to the login with what was issued."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest_asyncio
from cryptography import x509

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.api.object import KubeObject
from proreus.client import Client, ClientConfig, Impersonation, load_config
from proreus.cluster.controller_settings import ControllerSettings
from proreus.cluster.controllers import run_controllers
from proreus.cluster.controllers.certificates import (
    RequestCleaner,
    approving_controller,
    signing_controller,
)
from proreus.cluster.controllers.running import ControllerFactory
from proreus.net.tls.certificates import authority_files
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.server.credentials import tls_folder
from tests.signing import private_key, request_pem, signing_request

REQUESTS = "certificatesigningrequests.certificates.k8s.io"
API_CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
ACCOUNT = Impersonation("system:serviceaccount:kube-system:certificate-controller")
NODE = Impersonation("system:node:n1", groups=("system:nodes",))
CONTROLLERS: dict[str, ControllerFactory] = {
    "csrapproving": approving_controller,
    "csrsigning": signing_controller,
    "csrcleaner": RequestCleaner,
}


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[ApiServer]:
    config = ServerConfig(
        data_dir=tmp_path / "data",
        tls=True,
        kubeconfig=tmp_path / "kubeconfig",
        authorization_mode=("Node", "RBAC"),
    )
    async with ApiServer(config) as running:
        yield running


@pytest_asyncio.fixture
async def client(server: ApiServer, tmp_path: Path) -> AsyncIterator[Client]:
    async with Client(load_config(tmp_path / "kubeconfig")) as connected:
        yield connected


@pytest_asyncio.fixture
async def signed_by(server: ApiServer, client: Client) -> AsyncIterator[Path]:
    """While controllers run, with the rights of their service account and no others; the data
    folder whose authority signs."""
    assert server.config.data_dir is not None
    files = authority_files(tls_folder(server.config.data_dir))
    settings = ControllerSettings(cluster_signing=files, use_service_account_credentials=False)
    async with Client(replace(client.config, impersonate=ACCOUNT)) as own:
        run = run_controllers(own, SystemClock(), settings=settings, controllers=CONTROLLERS)
        async with background(run):
            yield server.config.data_dir


async def decide(client: Client, name: str, kind: str) -> None:
    conditions = [{"type": kind, "status": "True", "reason": "Test"}]
    patch = {"status": {"conditions": conditions}}
    await client.resource(REQUESTS).patch(name, patch, subresource="approval")


async def outcome(client: Client, name: str) -> KubeObject:
    """The request once it is signed or refused."""

    def is_over(found: KubeObject | None) -> bool:
        status = (found.to_dict().get("status") if found is not None else None) or {}
        kinds = [condition["type"] for condition in status.get("conditions") or ()]
        return bool(status.get("certificate")) or "Failed" in kinds or "Denied" in kinds

    found = await client.resource(REQUESTS).wait_for(name, is_over, timeout_s=60)
    assert found is not None
    return found


async def who_is(client: Client, certificate: str) -> dict[str, Any]:
    """Whom the server sees if this certificate is presented."""
    tls = replace(
        client.config.tls, cert_data=base64.b64decode(certificate), key_data=private_key()
    )
    config = ClientConfig(client.config.host, tls=tls)
    async with Client(config) as other:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        answer = await other.resource("selfsubjectreviews.authentication.k8s.io").create(review)
    found: dict[str, Any] = answer.to_dict()["status"]["userInfo"]
    return found


async def test_a_person_logs_in_with_the_certificate_that_was_approved(
    client: Client, signed_by: Path
) -> None:
    requests = client.resource(REQUESTS)
    pem = request_pem("ann", ["dev"])
    body = signing_request("ann", pem, API_CLIENT, expirationSeconds=3600)
    await requests.create(body)

    await decide(client, "ann", "Approved")
    issued = (await outcome(client, "ann")).to_dict()["status"]["certificate"]

    user = await who_is(client, issued)
    assert (user["username"], user["groups"]) == ("ann", ["dev", "system:authenticated"])
    found = x509.load_pem_x509_certificate(base64.b64decode(issued))
    lasted = found.not_valid_after_utc - found.not_valid_before_utc
    assert lasted.total_seconds() == 3600 + 300


async def test_a_request_that_does_not_fit_its_signer_fails_and_a_denied_one_is_left_alone(
    client: Client, signed_by: Path
) -> None:
    requests = client.resource(REQUESTS)
    wrong = signing_request("wrong", request_pem("ann"), API_CLIENT, ["server auth"])
    await requests.create(wrong)
    await requests.create(signing_request("denied", request_pem("ann"), API_CLIENT))

    await decide(client, "denied", "Denied")
    await decide(client, "wrong", "Approved")

    failed = (await outcome(client, "wrong")).to_dict()["status"]
    assert "certificate" not in failed
    condition = failed["conditions"][1]
    assert (condition["type"], condition["status"]) == ("Failed", "True")
    assert condition["reason"] == "SignerValidationFailure"
    assert condition["message"] == "invalid usage for client certificate: server auth"
    assert "certificate" not in (await requests.get("denied")).to_dict()["status"]


async def test_a_kubelet_renews_its_certificate_once_it_has_the_right(
    client: Client, signed_by: Path
) -> None:
    """Whoever may do everything gets a node its first one."""
    requests = client.resource(REQUESTS)
    pem = request_pem("system:node:n1", ["system:nodes"])
    await requests.create(signing_request("by-admin", pem, KUBELET_CLIENT))
    config = replace(client.config, impersonate=NODE)
    async with Client(config) as node:
        await node.resource(REQUESTS).create(signing_request("by-node", pem, KUBELET_CLIENT))
    role = {
        "metadata": {"name": "renew"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
        },
        "subjects": [
            {"kind": "Group", "name": "system:nodes", "apiGroup": "rbac.authorization.k8s.io"}
        ],
    }
    await client.resource("clusterrolebindings.rbac.authorization.k8s.io").create(role)

    by_admin = (await outcome(client, "by-admin")).to_dict()["status"]
    by_node = (await outcome(client, "by-node")).to_dict()["status"]

    approvals = [status["conditions"][0] for status in (by_admin, by_node)]
    assert [approval["reason"] for approval in approvals] == ["AutoApproved"] * 2
    assert approvals[0]["message"].startswith("Auto approving kubelet client certificate")
    assert approvals[1]["message"].startswith("Auto approving self kubelet client certificate")
    user = await who_is(client, by_node["certificate"])
    assert user["username"] == "system:node:n1"
    assert "system:nodes" in user["groups"]
