"""Webhooks and the servers around them: restarts, shared stores, services, kubectl, audit."""

from __future__ import annotations

import asyncio
import shutil
import uuid
from pathlib import Path

import aiohttp
import pytest

from proreus.aio.clock import SystemClock
from proreus.api.wire import json
from proreus.client import ApiError, Client
from proreus.server.audit.options import AuditOptions
from proreus.server.config import ServerConfig
from proreus.testing.server import RunningServer, running_server
from tests.admission import webhooks
from tests.in_process import servers_on_one_etcd

DENY: webhooks.Behaviour = {"response": {"allowed": False, "status": {"message": "not today"}}}
LABEL: list[webhooks.Json] = [{"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}]


@pytest.fixture
def name() -> str:
    return f"hook-{uuid.uuid4().hex[:12]}"


async def is_denied(client: Client) -> bool:
    try:
        await client.core_v1.configmaps("default").create(webhooks.config_map("a"), dry_run=True)
    except ApiError as refused:
        return "not today" in refused.message
    return False


async def test_after_a_restart_the_first_request_is_admitted_by_the_webhooks_that_were_there(
    process: webhooks.WebhookProcess, name: str, tmp_path: Path
) -> None:
    process.behave(name, DENY)
    config = ServerConfig(data_dir=tmp_path)
    async with running_server(config) as server, server.client() as client:
        await webhooks.configure(client, "Validating", process.hook(name))

    async with running_server(config) as server, server.client() as client:
        assert await is_denied(client)


async def test_servers_that_share_etcd_agree_on_webhooks(
    process: webhooks.WebhookProcess, name: str
) -> None:
    process.behave(name, DENY)
    async with servers_on_one_etcd() as (writer, reader):
        assert not await is_denied(reader)
        await webhooks.configure(writer, "Validating", process.hook(name))
        assert await is_denied(writer)
        async with asyncio.timeout(60):
            while not await is_denied(reader):
                continue
        await webhooks.configurations(writer, "Validating").delete("tests")
        async with asyncio.timeout(60):
            while await is_denied(reader):
                continue


async def test_a_webhook_is_found_by_its_service(
    client: Client, process: webhooks.WebhookProcess, name: str
) -> None:
    process.behave(name, DENY)
    spec = {"type": "ExternalName", "externalName": "localhost"}
    await client.core_v1.services("default").create({"metadata": {"name": "hook"}, "spec": spec})
    service = {"namespace": "default", "name": "hook", "path": f"/{name}", "port": process.port}
    client_config = {"service": service, "caBundle": process.ca_bundle}
    await webhooks.configure(
        client, "Validating", {**process.hook(name), "clientConfig": client_config}
    )

    assert await is_denied(client)


@pytest.mark.parametrize(
    ("path", "kind", "fields"),
    [
        ("exec?command=ls&command=-l&container=c&stdout=true", "PodExecOptions",
         {"command": ["ls", "-l"], "container": "c", "stdout": True}),
        ("portforward", "PodPortForwardOptions", {}),
        ("proxy/healthz", "PodProxyOptions", {"path": "/healthz"}),
    ],
)  # fmt: skip
async def test_connections_are_asked_about_with_what_they_want(
    server: RunningServer, client: Client, process: webhooks.WebhookProcess, name: str, path: str,
    kind: str, fields: webhooks.Json,
) -> None:  # fmt: skip
    rule = {**webhooks.CONFIG_MAPS, "operations": ["CONNECT"], "resources": ["pods/*"]}
    process.behave(name, DENY)
    await webhooks.configure(client, "Validating", process.hook(name, rule))
    headers = {"Authorization": f"Bearer {server.token}"}

    async with aiohttp.ClientSession(headers=headers) as session:
        at = f"{server.url}/api/v1/namespaces/default/pods/a/{path}"
        async with session.post(at) as answer:
            body = await answer.json()

    assert body["message"].endswith("denied the request: not today")
    (asked,) = process.requests(name)
    assert (asked["operation"], asked["name"]) == ("CONNECT", "a")
    assert (asked["kind"]["kind"], asked["object"]["kind"]) == (kind, kind)
    assert {key: asked["object"].get(key) for key in fields} == fields
    assert (asked["oldObject"], asked["options"]) == (None, None)


async def test_warnings_reach_the_client_and_annotations_the_audit_log(
    process: webhooks.WebhookProcess, name: str, tmp_path: Path
) -> None:
    answer: webhooks.Json = {
        "warnings": ["think again"],
        "auditAnnotations": {"team": "red", "a b": "no"},
    }
    process.behave(name, {"patch": LABEL, "response": answer})
    process.behave(f"{name}-2", {"cut": True})
    policy, log = tmp_path / "policy.yaml", tmp_path / "audit.log"
    policy.write_text(
        "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n"
        "- {level: Request, resources: [{group: '', resources: [configmaps]}]}"
    )
    config = ServerConfig(audit=AuditOptions(policy_file=policy, log_path=log))
    async with running_server(config) as server, server.client() as client:
        ignored = process.hook(f"{name}-2", failurePolicy="Ignore")
        await webhooks.configure(client, "Mutating", process.hook(name), ignored)
        headers = {"Authorization": f"Bearer {server.token}"}
        async with aiohttp.ClientSession(headers=headers) as session:
            at = f"{server.url}/api/v1/namespaces/default/configmaps"
            async with session.post(at, json=webhooks.config_map("a")) as answered:
                assert answered.status == 201
                assert answered.headers.getall("Warning") == ['299 - "think again"']

    annotations = json.decode(log.read_text().splitlines()[-1])["annotations"]
    begin, hook = "mutation.webhook.admission.k8s.io/round_0_index_", f"{name}.example.com"
    noted = {"configuration": "tests", "webhook": hook, "mutated": True}
    assert annotations[f"{hook}/team"] == "red"
    assert json.decode(annotations[f"{begin}0"]) == noted
    assert annotations[f"failed-open.{begin}1"] == f"{name}-2.example.com"
    patch = json.decode(annotations["patch.webhook.admission.k8s.io/round_0_index_0"])
    assert patch == {
        "configuration": "tests", "webhook": hook, "patch": LABEL, "patchType": "JSONPatch",
    }  # fmt: skip
    assert not any("a b" in key for key in annotations)


async def test_kubectl_creates_and_applies_through_a_mutating_webhook(
    process: webhooks.WebhookProcess, name: str, tmp_path: Path
) -> None:
    if not shutil.which("kubectl"):
        pytest.skip("kubectl is not installed")
    process.behave(name, {"patch": [{"op": "add", "path": "/data/more", "value": "text"}]})
    kubeconfig, manifest = tmp_path / "kubeconfig", tmp_path / "map.json"
    config = ServerConfig(data_dir=tmp_path / "data", tls=True, kubeconfig=kubeconfig)

    async def kubectl(*arguments: str) -> str:
        started = await asyncio.create_subprocess_exec(
            "kubectl", "--kubeconfig", str(kubeconfig), *arguments,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            env={"HOME": str(tmp_path), "PATH": "/usr/local/bin:/usr/bin:/bin"},
        )  # fmt: skip
        said, _ = await started.communicate()
        return said.decode()

    async with running_server(config, SystemClock()) as server, server.client() as client:
        await webhooks.configure(client, "Mutating", process.hook(name))
        manifest.write_bytes(json.encode(webhooks.config_map("a")))
        created = await kubectl("create", "-f", str(manifest))
        printed = await kubectl("get", "configmap", "a", "-o", "jsonpath={.data}")
        manifest.write_bytes(json.encode({**webhooks.config_map("b"), "data": {"key": "new"}}))
        applied = await kubectl("apply", "--server-side", "-f", str(manifest))
        again = await kubectl("apply", "--server-side", "-f", str(manifest))
        process.behave(name, DENY)
        denied = await kubectl("delete", "configmap", "a")

    assert created == "configmap/a created\n"
    assert printed == '{"key":"value","more":"text"}'
    assert applied == again == "configmap/b serverside-applied\n"
    assert f'admission webhook "{name}.example.com" denied the request: not today' in denied
