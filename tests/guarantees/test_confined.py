"""Everyone gets where a rule lets them, and nowhere else."""

from __future__ import annotations

import logging
from pathlib import Path

import httpx
import pytest

from proreus.api.json_types import JsonObject
from proreus.api.status import ApiError, Forbidden, Unauthorized
from proreus.client import Client
from proreus.server.audit.options import AuditOptions
from proreus.server.authz.authorizer import Action, Verdict
from proreus.server.authz.rbac.authorizer import Rbac
from proreus.server.config import ServerConfig
from proreus.testing.granting import Grant
from proreus.testing.server import RunningServer, running_server
from tests import in_process
from tests.robustness.wire import wait_ready

# Whoever is known may ask these about themselves, and read what the server offers.
OF_ONESELF = {"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"}
PUBLIC = ("/healthz", "/livez", "/readyz", "/version")
POLICY = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n"
READ = {"configmaps": ["get", "list", "watch"]}


server, admin = in_process.server, in_process.client


async def test_who_has_no_rights_reaches_no_resource(server: RunningServer) -> None:
    """Guarantee: no one in where they do not belong"""
    answers: dict[str, int] = {}
    headers = {"Authorization": f"Bearer {server.token}", "Impersonate-User": "ann"}
    async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60) as ann:
        for resource in server.api.catalog:
            if resource.plural in OF_ONESELF:
                continue
            group = f"apis/{resource.group}" if resource.group else "api"
            where = "namespaces/default/" if resource.namespaced else ""
            path = f"/{group}/{resource.version}/{where}{resource.plural}"
            for method, target in (("GET", path), ("POST", path), ("PUT", f"{path}/x")):
                answer = await ann.request(method, target, content=b"{}")
                answers[f"{method} {target}"] = answer.status_code

    assert len(answers) > 200
    assert {asked: code for asked, code in answers.items() if code not in (403, 405)} == {}


async def test_the_unknown_reach_health_and_version_alone(server: RunningServer) -> None:
    """Guarantee: no one in where they do not belong"""
    others = ("/api", "/apis", "/metrics", "/openapi/v2", "/api/v1/nodes", "/healthz/etcd", "/x")
    await wait_ready(server)
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as nobody:
        public = {path: (await nobody.get(path)).status_code for path in PUBLIC}
        hidden = {path: (await nobody.get(path)).status_code for path in others}

    assert public == dict.fromkeys(PUBLIC, 200)
    assert hidden == dict.fromkeys(others, 403)


async def test_a_revoked_right_ends_before_its_event_is_seen(
    server: RunningServer, admin: Client
) -> None:
    """Guarantee: no one in where they do not belong"""
    bindings = admin.rbac_v1.rolebindings("default")
    async with server.client_as("ann") as ann:
        mine = ann.core_v1.configmaps("default")
        for _ in range(20):
            await server.grant("ann", Grant(READ, namespace="default"))
            [bound] = await bindings.list()
            await mine.list()

            async with bindings.watch(resource_version=bound.resource_version) as events:
                await bindings.delete(bound.name)
                async for event in events:
                    if event.type == "DELETED":
                        break

            with pytest.raises(Forbidden):
                await mine.list()


async def test_who_cannot_be_authorized_is_not_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guarantee: no one in where they do not belong"""

    def broken(rbac: Rbac, action: Action) -> Verdict:
        raise RuntimeError("no verdict")

    monkeypatch.setattr(Rbac, "authorize", broken)
    async with running_server() as server, server.client() as admin:
        await server.grant("ann", Grant({"configmaps": ["create"]}, namespace="default"))
        async with server.client_as("ann") as ann:
            with pytest.raises(ApiError):
                await ann.core_v1.configmaps("default").create({"metadata": {"name": "a"}})

        assert list(await admin.core_v1.configmaps("default").list()) == []


async def test_a_node_is_confined_to_what_is_its_own(server: RunningServer, admin: Client) -> None:
    """Guarantee: no one in where they do not belong"""
    for node in ("a", "b"):
        await admin.core_v1.nodes.create({"metadata": {"name": node}})
        await admin.core_v1.secrets("default").create({"metadata": {"name": f"of-{node}"}})
        await admin.core_v1.pods("default").create(pod_on(node))
    groups = ["system:nodes", "system:authenticated"]
    async with server.client_as("system:node:a", groups=groups) as node_a:
        core, leases = node_a.core_v1, node_a.coordination_v1.leases("kube-node-lease")
        await core.secrets("default").get("of-a")
        await core.pods("default").get("pod-a")
        await core.nodes.get("a")
        await leases.create({"metadata": {"name": "a"}})
        refused = [
            core.secrets("default").get("of-b"),
            core.secrets("default").list(),
            core.configmaps("default").list(),
            core.pods("default").get("pod-b"),
            core.pods("default").list(field_selector="spec.nodeName=b"),
            core.pods("default").delete("pod-b"),
            core.pods("default").patch_status("pod-b", {"status": {"phase": "Failed"}}),
            core.pods("default").create(pod_on("a", name="own")),
            core.nodes.get("b"),
            core.nodes.patch("b", {"metadata": {"labels": {"x": "y"}}}),
            core.nodes.patch("a", {"spec": {"taints": None}}),
            core.serviceaccounts("default").create(token_request("pod-b"), subresource="token"),
            leases.create({"metadata": {"name": "b"}}),
        ]
        for number, asked in enumerate(refused):
            try:
                await asked
            except Forbidden:
                continue
            raise AssertionError(f"number {number} was let in")


async def test_a_token_ends_with_what_it_is_bound_to(server: RunningServer, admin: Client) -> None:
    """Guarantee: no one in where they do not belong"""
    accounts, secrets = admin.core_v1.serviceaccounts("default"), admin.core_v1.secrets("default")
    await accounts.create({"metadata": {"name": "robot"}})
    await secrets.create({"metadata": {"name": "anchor"}})
    bound = {"kind": "Secret", "apiVersion": "v1", "name": "anchor"}
    tokens = [
        str((await accounts.create(body, subresource="token"))["status"]["token"])
        for body in (token_of("robot"), token_of("robot", boundObjectRef=bound))
    ]

    async def who(token: str) -> str:
        async with server.client(token) as client:
            try:
                found = await client.authentication_v1.selfsubjectreviews.create({})
            except Unauthorized:
                return "nobody"
            return str(found.status.userInfo.username)

    robot = "system:serviceaccount:default:robot"
    first = [await who(token) for token in tokens]
    await secrets.delete("anchor")
    second = [await who(token) for token in tokens]
    await accounts.delete("robot")
    third = [await who(token) for token in tokens]

    assert first == [robot, robot]
    assert second == [robot, "nobody"]
    assert third == ["nobody", "nobody"]


async def test_no_credential_is_revealed_to_anybody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Guarantee: no one in where they do not belong"""
    caplog.set_level(logging.DEBUG)
    policy, log = tmp_path / "policy.yaml", tmp_path / "audit.log"
    policy.write_text(POLICY)
    audit = AuditOptions(policy_file=policy, log_path=log)
    config = ServerConfig(data_dir=tmp_path / "data", tls=True, audit=audit)
    texts: list[str] = []
    async with running_server(config) as server, server.client() as admin:
        accounts = admin.core_v1.serviceaccounts("default")
        await accounts.create({"metadata": {"name": "robot"}})
        made = str(
            (await accounts.create(token_of("robot"), subresource="token"))["status"]["token"]
        )
        review = {"spec": {"token": made}}
        await admin.authentication_v1.tokenreviews.create(review)
        async with server.client(made) as robot, server.client(f"{made}x") as wrong:
            for client in (robot, wrong):
                with pytest.raises(ApiError) as refused:
                    await client.core_v1.secrets("default").list()
                texts += [
                    str(refused.value),
                    repr(refused.value),
                    repr(client),
                    repr(client.config),
                ]
            with pytest.raises(ApiError) as refused:
                await robot.get_raw(f"/api/v1/nodes?access_token={made}")
            texts.append(str(refused.value))
        files = server.api.credentials.tls
        assert files is not None
        keys = [pair.read().key.decode() for pair in (files.authority, files.admin, files.server)]
        values = (server, server.api, server.api.config, server.api.credentials)
        texts += [repr(value) for value in (*values, server.api.credentials.login())]
        secrets = [server.token, made, made.rpartition(".")[2], *(key[60:120] for key in keys)]
    texts += [log.read_text(), caplog.text]

    assert all(len(secret) > 30 for secret in secrets)
    found = [secret for secret in secrets if any(secret in text for text in texts)]
    assert found == []


def pod_on(node: str, name: str = "") -> JsonObject:
    return {
        "metadata": {"name": name or f"pod-{node}"},
        "spec": {
            "nodeName": node,
            "containers": [
                {"name": "c", "image": "i", "envFrom": [{"secretRef": {"name": f"of-{node}"}}]}
            ],
        },
    }


def token_of(account: str, **spec: object) -> JsonObject:
    return {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"name": account, "namespace": "default"},
        "spec": spec,
    }


def token_request(pod: str) -> JsonObject:
    return token_of("default", boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": pod})
