"""Certificates of pods: files that a signer has a part in."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate

from proreus.client import KubeObject
from tests.cluster.pod_signer import SIGNER, ended, projected, signing
from tests.cluster.process_runtime.conftest import NODE, Stage, shell

MOUNTS = [{"name": "id", "mountPath": "/id"}]


async def start(stage: Stage, volume: dict[str, Any]) -> Path:
    accounts = stage.client.core_v1.serviceaccounts("default")
    await accounts.create({"metadata": {"name": "default"}})
    pod = await stage.run("app", shell("sleep 1000", volumeMounts=MOUNTS), volumes=[volume])
    return stage.root(pod) / "id"


async def only_request(stage: Stage) -> KubeObject:
    requests = stage.client.certificates_v1.podcertificaterequests("default")
    async with requests.watch() as events:
        async for event in events:
            if event.type == "ADDED":
                return event.object
    raise AssertionError("the watch ended")


@pytest.mark.parametrize("key_type", ["RSA3072", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"])
async def test_a_pod_has_a_key_of_the_type_it_wants_and_its_certificate(
    stage: Stage, key_type: str
) -> None:
    paths = {"credentialBundlePath": "both.pem", "keyPath": "k.pem", "certificateChainPath": "c"}
    async with signing(stage.client):
        folder = await start(stage, projected(keyType=key_type, **paths))
        await stage.ready("app")

    key, chain = (folder / "k.pem").read_bytes(), (folder / "c").read_bytes()
    assert (folder / "both.pem").read_bytes() == key + chain
    certificate = load_pem_x509_certificate(chain)
    assert load_pem_private_key(key, None).public_key() == certificate.public_key()
    assert (folder / "k.pem").stat().st_mode & 0o777 == 0o600
    ssl.create_default_context().load_cert_chain(folder / "both.pem")


async def test_a_request_names_the_pod_its_account_and_its_node_and_has_its_annotations(
    stage: Stage,
) -> None:
    said = {"example.com/path": "/p"}
    wanted = projected(keyPath="k", maxExpirationSeconds=7200, userAnnotations=said)
    await start(stage, wanted)

    request = await only_request(stage)

    pod = await stage.client.core_v1.pods("default").get("app")
    node = await stage.client.core_v1.nodes.get(NODE)
    account = await stage.client.core_v1.serviceaccounts("default").get("default")
    spec = request.to_dict()["spec"]
    assert spec.pop("stubPKCS10Request")
    assert spec == {
        "signerName": SIGNER,
        "podName": "app",
        "podUID": pod.uid,
        "serviceAccountName": "default",
        "serviceAccountUID": account.uid,
        "nodeName": NODE,
        "nodeUID": node.uid,
        "maxExpirationSeconds": 7200,
        "unverifiedUserAnnotations": said,
    }
    assert request["metadata"]["ownerReferences"][0]["uid"] == pod.uid


@pytest.mark.parametrize(("kind", "word"), [("Denied", "was denied"), ("Failed", "failed")])
async def test_a_pod_whose_certificate_is_refused_does_not_start_and_says_why(
    stage: Stage, kind: str, word: str
) -> None:
    await start(stage, projected(keyPath="k"))
    request = await only_request(stage)
    requests = stage.client.certificates_v1.podcertificaterequests("default")

    await requests.patch_status(request.name, {"status": ended(kind, "not you")})

    said = await stage.saw("FailedMount", "not you")
    assert said == f"PodCertificateRequest {request.name} {word}: Test: not you"
