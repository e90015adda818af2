"""What a kubelet writes is its own: its pods, their tokens, their certificates, its slices."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.server.registry.user import AUTHENTICATED, MASTERS, User
from tests.signing import REQUESTS, request_pem, signing_request

CORE = "/api/v1/namespaces/default"
PODS, TOKENS = f"{CORE}/pods", f"{CORE}/serviceaccounts/s/token"
POD_CERTIFICATES = "/apis/certificates.k8s.io/v1/namespaces/default/podcertificaterequests"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
SERVERS_OWN = "https://kubernetes.default.svc.cluster.local"
OTHER = "/api/v1/namespaces/default/pods/theirs"


@pytest_asyncio.fixture
async def server() -> AsyncIterator[ApiServer]:
    users = {
        "n1-token": User("system:node:n1", ("system:nodes", AUTHENTICATED)),
        # A node that may do everything is still a node.
        "root-token": User("system:node:n1", ("system:nodes", MASTERS, AUTHENTICATED)),
    }
    config = ServerConfig(tokens=users, authorization_mode=("Node", "RBAC"))
    async with ApiServer(config) as running:
        yield running


@pytest_asyncio.fixture
async def admin(server: ApiServer) -> AsyncIterator[httpx.AsyncClient]:
    async with as_user(server, server.token) as client:
        for name in ("n1", "n2"):
            await made(client, "/api/v1/nodes", {"metadata": {"name": name}})
        await made(client, f"{CORE}/serviceaccounts", {"metadata": {"name": "s"}})
        yield client


@pytest_asyncio.fixture
async def node(server: ApiServer, admin: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    async with as_user(server, "n1-token") as client:
        yield client


@pytest_asyncio.fixture
async def root(server: ApiServer, admin: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    async with as_user(server, "root-token") as client:
        yield client


def as_user(server: ApiServer, token: str) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60)


async def made(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await client.post(path, json=body)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def refusal(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> str:
    """The reason of a refusal; "" if it succeeded."""
    answer = await client.post(path, json=body)
    return "" if answer.status_code in (200, 201) else str(answer.json()["message"])


def pod(name: str, node: str = "n1", *volumes: dict[str, Any], **spec: Any) -> dict[str, Any]:
    named = [{"name": f"v{index}", **volume} for index, volume in enumerate(volumes)]
    return {
        "metadata": {"name": name},
        "spec": {
            "nodeName": node,
            "serviceAccountName": "s",
            "automountServiceAccountToken": False,
            "containers": [{"name": "c", "image": "i"}],
            "volumes": named,
            **spec,
        },
    }


def projected(**source: Any) -> dict[str, Any]:
    return {"projected": {"sources": [source]}}


def token_of(bound: dict[str, Any] | None, *audiences: str, **reference: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"audiences": list(audiences)} if audiences else {}
    if bound is not None:
        meta = bound["metadata"]
        named = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
        spec["boundObjectRef"] = {**named, **reference}
    return {"spec": spec}


async def test_a_node_gets_tokens_that_end_with_its_own_pods_only(
    admin: httpx.AsyncClient, node: httpx.AsyncClient
) -> None:
    api_token = projected(serviceAccountToken={"path": "t"})
    own = await made(admin, PODS, pod("own", "n1", api_token))
    theirs = await made(admin, PODS, pod("theirs", "n2", api_token))
    forbidden = 'serviceaccounts "s" is forbidden: '

    assert await refusal(node, TOKENS, token_of(own)) == ""
    assert await refusal(node, TOKENS, token_of(None)) == (
        f"{forbidden}node requested token not bound to a pod"
    )
    assert "not bound to a pod" in await refusal(node, TOKENS, token_of(own, kind="Secret"))
    assert await refusal(node, TOKENS, token_of(own, uid="")) == (
        f"{forbidden}node requested token with a pod binding without a uid"
    )
    assert await refusal(node, TOKENS, token_of(own, uid="other")) == (
        f"{forbidden}the UID in the bound object reference (other) does not match the UID in "
        "record. The object might have been deleted and then recreated"
    )
    assert await refusal(node, TOKENS, token_of(theirs)) == (
        f"{forbidden}node requested token bound to a pod scheduled on a different node"
    )
    assert await refusal(node, TOKENS, token_of(own, name="gone")) == 'pod "gone" not found'


async def test_a_node_gets_tokens_for_audiences_that_volumes_of_the_pod_name(
    admin: httpx.AsyncClient, node: httpx.AsyncClient
) -> None:
    vault = projected(serviceAccountToken={"path": "t", "audience": "vault"})
    wanted = await made(admin, PODS, pod("wanted", "n1", vault))
    plain = await made(admin, PODS, pod("plain", "n1"))
    who = 'serviceaccounts "s" is forbidden: system:node:n1 is not authorized to request tokens for'

    assert await refusal(node, TOKENS, token_of(wanted, "vault")) == ""
    for bound, audience in ((wanted, "other"), (wanted, SERVERS_OWN), (plain, "vault")):
        refused = await refusal(node, TOKENS, token_of(bound, audience))
        assert refused == f'{who} audience "{audience}"'
    assert await refusal(node, TOKENS, token_of(plain)) == f'{who} audience ""'
    assert (await refusal(node, TOKENS, token_of(wanted, "vault", "other"))).endswith(
        "node may only request 0 or 1 audiences"
    )


async def test_a_node_gets_tokens_for_audiences_of_drivers_that_mount_the_volumes(
    admin: httpx.AsyncClient, node: httpx.AsyncClient
) -> None:
    """Inline, or behind a claim and its volume."""
    driver = {"metadata": {"name": "d.example"}, "spec": {"tokenRequests": [{"audience": "vault"}]}}
    await made(admin, "/apis/storage.k8s.io/v1/csidrivers", driver)
    volume = {
        "capacity": {"storage": "1"},
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "d.example", "volumeHandle": "h"},
    }
    await made(admin, "/api/v1/persistentvolumes", {"metadata": {"name": "v"}, "spec": volume})
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1"}},
        "volumeName": "v",
        "storageClassName": "",
    }
    claims = f"{CORE}/persistentvolumeclaims"
    await made(admin, claims, {"metadata": {"name": "c"}, "spec": claim})
    inline = await made(admin, PODS, pod("inline", "n1", {"csi": {"driver": "d.example"}}))
    by_claim = {"persistentVolumeClaim": {"claimName": "c"}}
    claimed = await made(admin, PODS, pod("claimed", "n1", by_claim))
    lost = {"persistentVolumeClaim": {"claimName": "gone"}}
    waiting = await made(admin, PODS, pod("waiting", "n1", lost))

    assert await refusal(node, TOKENS, token_of(inline, "vault")) == ""
    assert await refusal(node, TOKENS, token_of(claimed, "vault")) == ""
    assert "not authorized" in await refusal(node, TOKENS, token_of(inline, "other"))
    assert (await refusal(node, TOKENS, token_of(waiting, "vault"))).endswith(
        'error validating audience "vault": persistentvolumeclaim "gone" not found'
    )


async def test_a_node_evicts_and_deletes_its_own_pods_only(
    admin: httpx.AsyncClient, node: httpx.AsyncClient
) -> None:
    for name, where in (("own", "n1"), ("theirs", "n2")):
        await made(admin, PODS, pod(name, where))

    def eviction(name: str) -> dict[str, Any]:
        return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}

    assert await refusal(node, f"{PODS}/theirs/eviction", eviction("theirs")) == (
        'pods "theirs" is forbidden: node n1 can only evict pods with spec.nodeName set to itself'
    )
    assert await refusal(node, f"{PODS}/gone/eviction", eviction("gone")) == 'pod "gone" not found'
    assert await refusal(node, f"{PODS}/own/eviction", eviction("own")) == ""
    refused = (await node.delete(f"{PODS}/theirs")).json()["message"]
    assert "can only delete pods with spec.nodeName set to itself" in refused


async def test_a_node_with_every_right_is_a_node_nevertheless(
    admin: httpx.AsyncClient, root: httpx.AsyncClient
) -> None:
    await made(admin, PODS, pod("own", "n1"))
    binding = {"metadata": {"name": "own"}, "target": {"kind": "Node", "name": "n2"}}
    claim = {
        "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}},
    }

    assert (await refusal(root, f"{PODS}/own/binding", binding)).endswith(
        "unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed"
    )
    assert (await refusal(root, f"{CORE}/persistentvolumeclaims", claim)).endswith(
        'persistentvolumeclaims "c" is forbidden: may only update PVC status'
    )
    assert "can only create mirror pods" in await refusal(root, PODS, pod("new", "n1"))
    assert await refusal(root, f"{CORE}/configmaps", {"metadata": {"name": "free"}}) == ""


async def test_a_mirror_pod_refers_to_nothing(
    admin: httpx.AsyncClient, node: httpx.AsyncClient
) -> None:
    uid = (await admin.get("/api/v1/nodes/n1")).json()["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": uid, "controller": True}

    async def refers(*volumes: dict[str, Any]) -> str:
        mirror = pod("m", "n1", *volumes, serviceAccountName="")
        mirror["metadata"] |= {
            "annotations": {"kubernetes.io/config.mirror": "x"},
            "ownerReferences": [owner],
        }
        refused = await refusal(node, f"{PODS}?dryRun=All", mirror)
        return refused.partition("can not create pods that reference ")[2]

    template = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}
    bundle = {"name": "b", "path": "p"}
    assert await refers() == ""
    assert await refers({"hostPath": {"path": "/x"}}, {"emptyDir": {}}) == ""
    assert await refers({"configMap": {"name": "x"}}) == "configmaps"
    assert await refers(projected(configMap={"name": "x"})) == "configmaps"
    assert await refers({"persistentVolumeClaim": {"claimName": "x"}}) == "persistentvolumeclaims"
    assert await refers({"csi": {"driver": "d"}}) == "csidrivers (via CSI volumes)"
    assert await refers({"ephemeral": {"volumeClaimTemplate": {"spec": template}}}) == (
        "persistentvolumeclaims (via ephemeral volumes)"
    )
    assert await refers(projected(clusterTrustBundle=bundle)) == "clustertrustbundles"


async def test_a_node_asks_for_certificates_of_itself_only(node: httpx.AsyncClient) -> None:
    client, serving = "kube-apiserver-client-kubelet", "kubelet-serving"

    async def asked(common_name: str, signer: str) -> str:
        pem = request_pem(common_name, ["system:nodes"])
        body = signing_request("r", pem, f"kubernetes.io/{signer}")
        return await refusal(node, f"{REQUESTS}?dryRun=All", body)

    wrong_name = (
        'certificatesigningrequests.certificates.k8s.io "r" is forbidden: can only create a node '
        "CSR with CN=system:node:n1"
    )
    for signer in (client, serving):
        assert await asked("system:node:n1", signer) == ""
        for other in ("system:node:n2", "system:node:n10", "n1", ""):
            assert await asked(other, signer) == wrong_name
    assert await asked("somebody", "kube-apiserver-client") == ""
    garbage = signing_request("r", b"x", f"kubernetes.io/{client}")
    assert (await refusal(node, REQUESTS, garbage)).endswith(
        "unable to parse csr: PEM block type must be CERTIFICATE REQUEST"
    )


async def test_a_node_asks_for_certificates_of_its_pods_from_signers_they_name(
    admin: httpx.AsyncClient, node: httpx.AsyncClient
) -> None:
    wanted = {"signerName": "example.com/s", "keyType": "ED25519", "credentialBundlePath": "b"}
    own = await made(admin, PODS, pod("own", "n1", projected(podCertificate=wanted)))
    theirs = await made(admin, PODS, pod("theirs", "n2"))
    uid_of_node = (await admin.get("/api/v1/nodes/n1")).json()["metadata"]["uid"]
    account = (await admin.get(f"{CORE}/serviceaccounts/s")).json()["metadata"]["uid"]

    async def asked(bound: dict[str, Any] = own, **changes: Any) -> str:
        spec = {
            "signerName": "example.com/s",
            "podName": bound["metadata"]["name"],
            "podUID": bound["metadata"]["uid"],
            "serviceAccountName": "s",
            "serviceAccountUID": account,
            "nodeName": "n1",
            "nodeUID": uid_of_node,
            "stubPKCS10Request": "eA==",
            "maxExpirationSeconds": 86400,
            **changes,
        }
        refused = await refusal(node, POD_CERTIFICATES, {"metadata": {"name": "r"}, "spec": spec})
        return refused.removeprefix('podcertificaterequests.certificates.k8s.io "r" is forbidden: ')

    assert await asked(nodeName="n2") == (
        'PodCertificateRequest.Spec.NodeName="n2", which is not the requesting node "n1"'
    )
    assert "inconsistent with the running node" in await asked(nodeUID="other")
    assert "which differs from running pod" in await asked(podUID="other")
    assert await asked(theirs) == (
        'pod "default/theirs" is not running on node "n1" named in the PodCertificateRequest'
    )
    assert await asked(serviceAccountName="t") == (
        'PodCertificateRequest for pod "default/own" contains serviceAccountName ("t") that '
        'differs from running pod ("s")'
    )
    assert "differs from the running service account" in await asked(serviceAccountUID="other")
    assert "not authorized" in await asked(signerName="example.com/other")
    assert await asked() == ""
    assert (await node.get(f"{POD_CERTIFICATES}/r")).status_code == 200


async def test_a_node_publishes_slices_of_its_own_devices_only(
    admin: httpx.AsyncClient, node: httpx.AsyncClient
) -> None:
    def of(owner: str, name: str) -> dict[str, Any]:
        pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "d.example", "nodeName": owner, "pool": pool}
        return {"metadata": {"name": name}, "spec": spec}

    assert (await refusal(node, SLICES, of("n2", "a"))).endswith(
        "can only create ResourceSlice with the same NodeName as the requesting node"
    )
    assert await refusal(node, SLICES, of("n1", "a")) == ""
    assert (await node.delete(f"{SLICES}/a")).status_code == 200


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/api/v1/nodes", 'node "n1" is not allowed to modify node ""'),
        (
            "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
            "can only access node lease with the same name as the requesting node",
        ),
        (
            "/apis/storage.k8s.io/v1/csinodes",
            "can only access CSINode with the same name as the requesting node",
        ),
    ],
)
async def test_a_name_that_only_begins_as_the_nodes_is_not_its_own(
    node: httpx.AsyncClient, path: str, said: str
) -> None:
    body = {"metadata": {"generateName": "n1"}, "spec": {}}

    assert (await refusal(node, path, body)).endswith(f'"n1" is forbidden: {said}')


async def test_a_node_learns_first_that_another_node_is_not_its_own(
    node: httpx.AsyncClient,
) -> None:
    labels = {"any.k8s.io/x": "y"}
    other = {"metadata": {"name": "n3", "labels": labels}}

    assert await refusal(node, "/api/v1/nodes", other) == (
        'nodes "n3" is forbidden: node "n1" is not allowed to modify node "n3"'
    )


async def test_a_node_reads_what_ephemeral_containers_of_its_pods_need(
    admin: httpx.AsyncClient, node: httpx.AsyncClient
) -> None:
    await made(admin, f"{CORE}/secrets", {"metadata": {"name": "debug"}})
    await made(admin, PODS, pod("own"))

    async def read() -> int:
        return (await node.get(f"{CORE}/secrets/debug")).status_code

    before = await read()
    debugger = {"name": "d", "image": "i", "envFrom": [{"secretRef": {"name": "debug"}}]}
    merge = {"Content-Type": "application/strategic-merge-patch+json"}
    patch = json.dumps({"spec": {"ephemeralContainers": [debugger]}})
    changed = await admin.patch(f"{PODS}/own/ephemeralcontainers", content=patch, headers=merge)

    assert (before, changed.status_code) == (403, 200)
    async with asyncio.timeout(60):
        while await read() != 200:  # noqa: ASYNC110 - a right announces itself to nobody
            await asyncio.sleep(0.01)


async def test_a_node_reads_claims_that_are_made_for_its_pods_later(
    admin: httpx.AsyncClient, node: httpx.AsyncClient
) -> None:
    claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    request = {"name": "r", "exactly": {"deviceClassName": "c"}}
    await made(admin, claims, {"metadata": {"name": "made"},
                               "spec": {"devices": {"requests": [request]}}})  # fmt: skip
    await made(admin, PODS, pod("own"))
    before = (await node.get(f"{claims}/made")).status_code

    merge = {"Content-Type": "application/merge-patch+json"}
    status = {"resourceClaimName": "made",
              "requestMappings": [{"containerName": "c", "resourceName": "example.com/gpu",
                                   "requestName": "r"}]}  # fmt: skip
    patch = json.dumps({"status": {"extendedResourceClaimStatus": status}})
    by_node = await node.patch(f"{PODS}/own/status", content=patch, headers=merge)
    changed = await admin.patch(f"{PODS}/own/status", content=patch, headers=merge)

    assert (before, changed.status_code) == (403, 200), changed.text
    assert by_node.json()["message"] == (
        'pods "own" is forbidden: node "n1" cannot update extended resource claim status'
    )
    async with asyncio.timeout(60):
        while (await node.get(f"{claims}/made")).status_code != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
