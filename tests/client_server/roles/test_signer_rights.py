"""Rights over signers: who approves, signs and attests in whose name."""

from __future__ import annotations

from typing import Any

import httpx

from tests.signing import REQUESTS, request_pem, signing_request

GROUP = "certificates.k8s.io"
BUNDLES = f"/apis/{GROUP}/v1/clustertrustbundles"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
MERGE = {"Content-Type": "application/merge-patch+json"}
WRITES = {
    "apiGroups": [GROUP],
    "resources": [
        "certificatesigningrequests/approval",
        "certificatesigningrequests/status",
        "clustertrustbundles",
    ],
    "verbs": ["create", "update", "patch"],
}


async def grant(admin: httpx.AsyncClient, name: str, *rules: dict[str, Any]) -> None:
    meta = {"metadata": {"name": name}}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    made = [
        await admin.post(f"{RBAC}/clusterroles", json={**meta, "rules": list(rules)}),
        await admin.post(
            f"{RBAC}/clusterrolebindings",
            json={**meta, "roleRef": reference, "subjects": [{"kind": "User", "name": "ann"}]},
        ),
    ]
    assert [answer.status_code for answer in made] == [201, 201]


def over_signer(verb: str, *signers: str) -> dict[str, Any]:
    names = {"resourceNames": list(signers)}
    return {"apiGroups": [GROUP], "resources": ["signers"], "verbs": [verb], **names}


async def request(admin: httpx.AsyncClient, name: str, signer: str = "example.com/any") -> None:
    body = signing_request(name, request_pem("someone", ["dev"]), signer)
    assert (await admin.post(REQUESTS, json=body)).status_code == 201


async def decided(client: httpx.AsyncClient, name: str, part: str, *kinds: str) -> str:
    """Patch conditions; the reason of a refusal, "" if it was accepted."""
    conditions = [{"type": kind, "status": "True", "reason": "r"} for kind in kinds]
    body = {"status": {"conditions": conditions}}
    answer = await client.patch(f"{REQUESTS}/{name}/{part}", json=body, headers=MERGE)
    return "" if answer.status_code == 200 else str(answer.json()["message"])


async def test_approving_and_signing_take_rights_over_the_signer(
    admin: httpx.AsyncClient, ann: httpx.AsyncClient
) -> None:
    await request(admin, "a")
    await grant(admin, "writes", WRITES)
    forbidden = f'certificatesigningrequests.{GROUP} "a" is forbidden: user not permitted to'

    assert await decided(ann, "a", "approval", "Approved") == (
        f'{forbidden} approve requests with signerName "example.com/any"'
    )
    assert await decided(ann, "a", "approval", "Denied") != ""
    assert await decided(ann, "a", "status", "Failed") == (
        f'{forbidden} sign requests with signerName "example.com/any"'
    )
    unchanged = await ann.patch(f"{REQUESTS}/a/status", json={"status": {}}, headers=MERGE)
    assert unchanged.status_code == 200


async def test_each_right_over_a_signer_is_held_alone(
    admin: httpx.AsyncClient, ann: httpx.AsyncClient
) -> None:
    await request(admin, "a")
    await grant(admin, "approver", WRITES, over_signer("approve", "example.com/any"))

    assert await decided(ann, "a", "approval", "Approved") == ""
    assert "not permitted to sign" in await decided(ann, "a", "status", "Approved", "Failed")
    await grant(admin, "signer", over_signer("sign", "example.com/*"))
    assert await decided(ann, "a", "status", "Approved", "Failed") == ""


async def test_rights_over_a_domain_hold_for_its_signers_alone(
    admin: httpx.AsyncClient, ann: httpx.AsyncClient
) -> None:
    await grant(admin, "r", WRITES, over_signer("approve", "example.com/*"))
    for name, signer in (("in", "example.com/other"), ("out", "sub.example.com/any")):
        await request(admin, name, signer)

    assert await decided(ann, "in", "approval", "Approved") == ""
    assert "not permitted" in await decided(ann, "out", "approval", "Approved")


async def test_nobody_asks_to_become_a_master(admin: httpx.AsyncClient) -> None:
    async def asked(signer: str, *groups: str) -> str:
        body = signing_request("m", request_pem("someone", groups), signer)
        answer = await admin.post(f"{REQUESTS}?dryRun=All", json=body)
        return "" if answer.status_code == 201 else str(answer.json()["message"])

    own = "kubernetes.io/kube-apiserver-client"
    refused = await asked(own, "dev", "system:masters")
    assert refused == (
        f'certificatesigningrequests.{GROUP} "m" is forbidden: use of {own} signer with '
        "system:masters group is not allowed"
    )
    assert await asked(own, "dev") == ""
    assert await asked("example.com/any", "system:masters") == ""


async def test_trust_is_published_in_the_name_of_signers_one_may_attest_for(
    admin: httpx.AsyncClient, ann: httpx.AsyncClient
) -> None:
    from proreus.net.tls.issuing import make_authority

    anchor = make_authority("test", now=1e9).certificate.decode()
    await grant(admin, "r", WRITES, over_signer("attest", "example.com/any"))

    def bundle(name: str, **spec: Any) -> dict[str, Any]:
        return {"metadata": {"name": name}, "spec": {"trustBundle": anchor, **spec}}

    own = bundle("example.com:any:a", signerName="example.com/any")
    other = bundle("other.example.com:any:a", signerName="other.example.com/any")
    assert (await ann.post(BUNDLES, json=own)).status_code == 201
    assert (await ann.post(BUNDLES, json=bundle("of-nobody"))).status_code == 201
    refused = await ann.post(BUNDLES, json=other)
    assert refused.json()["message"] == (
        f'clustertrustbundles.{GROUP} "other.example.com:any:a" is forbidden: user not permitted '
        'to attest for signerName "other.example.com/any"'
    )
    assert (await admin.post(BUNDLES, json=other)).status_code == 201

    def patch(**metadata: Any) -> Any:
        path = f"{BUNDLES}/other.example.com:any:a"
        return ann.patch(path, json={"metadata": metadata}, headers=MERGE)

    assert (await patch(finalizers=["a.b/c"])).status_code == 200
    assert (await patch(labels={"a": "b"})).status_code == 403


async def test_certificates_of_pods_are_written_by_who_may_sign_for_their_signer(
    admin: httpx.AsyncClient, ann: httpx.AsyncClient
) -> None:
    path = f"/apis/{GROUP}/v1/namespaces/default/podcertificaterequests"
    spec = {
        "signerName": "example.com/any", "podName": "p", "podUID": "u", "nodeName": "n",
        "nodeUID": "u", "serviceAccountName": "s", "serviceAccountUID": "u",
        "stubPKCS10Request": "eA==", "maxExpirationSeconds": 86400,
    }  # fmt: skip
    made = await admin.post(path, json={"metadata": {"name": "r"}, "spec": spec})
    assert made.status_code == 201, made.text
    writes = {**WRITES, "resources": ["podcertificaterequests/status"]}
    await grant(admin, "writes", writes)

    async def deny() -> httpx.Response:
        at = "2026-01-01T00:00:00Z"
        condition = {"type": "Denied", "status": "True", "reason": "R", "lastTransitionTime": at}
        body = {"status": {"conditions": [{**condition, "message": ""}]}}
        return await ann.patch(f"{path}/r/status", json=body, headers=MERGE)

    refused = await deny()
    await grant(admin, "signs", over_signer("sign", "example.com/any"))

    assert refused.status_code == 422
    assert refused.json()["message"].endswith(
        'spec.signerName: Forbidden: User "ann" is not permitted to "sign" for signer '
        '"example.com/any"'
    )
    assert (await deny()).status_code == 200


async def test_a_request_that_is_no_base64_is_refused_as_such(admin: httpx.AsyncClient) -> None:
    body = signing_request("a", b"", "kubernetes.io/kube-apiserver-client")
    body["spec"]["request"] = "x"

    assert (await admin.post(REQUESTS, json=body)).status_code == 400
