"""Who the server is to webhooks: the users of the kubeconfig in its admission configuration."""

from __future__ import annotations

import base64
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import web

from proreus.api.wire import json
from proreus.client import ApiError, Client
from proreus.server.admission.options import AdmissionOptions
from proreus.server.config import ServerConfig
from proreus.testing.server import running_server
from tests.admission.webhooks import CONFIG_MAPS, config_map, configure
from tests.https_server import HttpsServer

PLUGINS = {"Mutating": "MutatingAdmissionWebhook", "Validating": "ValidatingAdmissionWebhook"}


async def who_asks(request: web.Request) -> web.StreamResponse:
    """Refuses every object and says by whom it was asked."""
    transport = request.transport
    assert transport is not None
    certificate = transport.get_extra_info("peercert") or {}
    subject = dict(pair for part in certificate.get("subject", ()) for pair in part)
    said = {"user": subject.get("commonName", ""), "header": request.headers.get("Authorization")}
    response = {
        "uid": (await request.json())["request"]["uid"],
        "allowed": False,
        "status": {"message": f"asked by {json.encode(said).decode()}"},
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    return web.json_response(review)


def write_configuration(folder: Path, half: str, users: list[Any]) -> AdmissionOptions:
    kubeconfig = folder / f"users-{uuid.uuid4().hex}"
    kubeconfig.write_bytes(json.encode({"kind": "Config", "apiVersion": "v1", "users": users}))
    own = {
        "kind": "WebhookAdmissionConfiguration",
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kubeConfigFile": str(kubeconfig),
    }
    whole = {
        "kind": "AdmissionConfiguration",
        "apiVersion": "apiserver.config.k8s.io/v1",
        "plugins": [{"name": PLUGINS[half], "configuration": own}],
    }
    file = folder / "admission.yaml"
    file.write_bytes(json.encode(whole))
    return AdmissionOptions(config_file=file)


@asynccontextmanager
async def asking(
    hook: HttpsServer, options: AdmissionOptions, half: str, *, by_service: bool = False
) -> AsyncIterator[Client]:
    """A client of a server that has to ask the webhook about every ConfigMap."""
    bundle = base64.b64encode(hook.authority.encode()).decode()
    where: dict[str, Any] = {"url": f"{hook.url}/hook"}
    async with running_server(ServerConfig(admission=options)) as server, server.client() as client:
        if by_service:
            port = int(hook.url.rpartition(":")[2])
            spec = {"type": "ExternalName", "externalName": "localhost"}
            service = {"metadata": {"name": "hook"}, "spec": spec}
            await client.core_v1.services("default").create(service)
            named = {"namespace": "default", "name": "hook", "path": "/hook", "port": port}
            where = {"service": named}
        entry = {
            "name": "hook.example.com",
            "clientConfig": {**where, "caBundle": bundle},
            "rules": [CONFIG_MAPS],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        await configure(client, half, entry)
        yield client


async def answer(client: Client) -> dict[str, Any]:
    with pytest.raises(ApiError) as refused:
        await client.core_v1.configmaps("default").create(config_map("a"))
    _, asked, said = refused.value.message.partition("asked by ")
    assert asked, refused.value.message
    found: dict[str, Any] = json.decode(said.encode())
    return found


@pytest.mark.parametrize("half", ["Mutating", "Validating"])
async def test_a_webhook_that_demands_a_certificate_gets_that_of_its_user(
    tmp_path: Path, half: str
) -> None:
    authority = trustme.CA()
    pair = authority.issue_cert(common_name="the server")
    (tmp_path / "cert.pem").write_bytes(pair.cert_chain_pems[0].bytes())
    key = base64.b64encode(pair.private_key_pem.bytes()).decode()
    async with HttpsServer(authority).running() as hook:
        hook.pages["/hook"] = who_asks
        user = {"client-certificate": "cert.pem", "client-key-data": key}
        users = [{"name": hook.url.removeprefix("https://"), "user": user}]
        options = write_configuration(tmp_path, half, users)
        async with asking(hook, options, half) as client:
            assert await answer(client) == {"user": "the server", "header": None}
        other = "Mutating" if half == "Validating" else "Validating"
        async with asking(hook, options, other) as client:
            with pytest.raises(ApiError, match="failed calling webhook"):
                await client.core_v1.configmaps("default").create(config_map("a"))


@pytest.mark.parametrize(
    ("user", "header"),
    [
        ({"token": "abc"}, "Bearer abc"),
        ({"tokenFile": "token"}, "Bearer from-a-file"),
        ({"username": "ann", "password": "secret"}, "Basic YW5uOnNlY3JldA=="),
        ({}, None),
    ],
)
@pytest.mark.parametrize("by_service", [False, True])
async def test_users_may_have_tokens_or_passwords_for_hosts_and_services(
    tmp_path: Path, user: dict[str, str], header: str | None, by_service: bool
) -> None:
    (tmp_path / "token").write_text("from-a-file\n")
    async with HttpsServer().running() as hook:
        hook.pages["/hook"] = who_asks
        port = hook.url.rpartition(":")[2]
        name = f"*.default.svc:{port}" if by_service else f"127.0.0.1:{port}"
        users = [
            {"name": "*", "user": {"token": "of-everybody-else"}},
            {"name": name, "user": user},
        ]
        options = write_configuration(tmp_path, "Validating", users)
        async with asking(hook, options, "Validating", by_service=by_service) as client:
            assert await answer(client) == {"user": "", "header": header}
