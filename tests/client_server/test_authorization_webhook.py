"""A server that another program decides for: from its start to a change of its configuration."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from proreus.server.app import ApiServer
from proreus.server.authz.configuration import WebhookFlags
from proreus.server.config import ConfigInvalid, ServerConfig
from proreus.server.registry.user import AUTHENTICATED, User
from proreus.testing.virtual_clock import VirtualClock
from tests.unit.server.authz.webhook.webhook_server import (
    TOKEN,
    Json,
    WebhookServer,
    send,
    webhook_server,
)

MAPS = "/api/v1/namespaces/default/configmaps"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"
USERS = {"ann-token": User("ann", (AUTHENTICATED,))}


def may(*verbs: str) -> Any:
    def decide(spec: Json) -> Json:
        asked = spec.get("resourceAttributes") or spec["nonResourceAttributes"]
        return {"allowed": spec["user"] == "ann" and asked["verb"] in verbs, "reason": "the hook"}

    return decide


@asynccontextmanager
async def served(
    webhook: WebhookServer, folder: Path, clock: VirtualClock | None = None, **more: Any
) -> AsyncIterator[tuple[ApiServer, httpx.AsyncClient]]:
    """And a client for ann."""
    if "authorization_config" not in more:
        flags = WebhookFlags(config_file=webhook.write_kubeconfig(folder / "webhook"))
        more = {"authorization_mode": ("RBAC", "Webhook"), "authorization_webhook": flags, **more}
    headers = {"Authorization": "Bearer ann-token"}
    async with (
        ApiServer(ServerConfig(tokens=USERS, **more), clock) as server,
        httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60) as ann,
    ):
        yield server, ann


async def test_the_webhook_is_asked_where_no_role_decides(tmp_path: Path) -> None:
    async with webhook_server() as webhook, served(webhook, tmp_path) as (_, ann):
        webhook.decide = may("list", "create")
        listed = await ann.get(MAPS, params={"labelSelector": "a=b"})
        deleted = await ann.delete(f"{MAPS}/x")
        made = await ann.post(MAPS, json={"metadata": {"name": "m"}})
        by_role = await ann.get("/version")
        scraped = await ann.get("/metrics")

    assert (listed.status_code, made.status_code, by_role.status_code) == (200, 201, 200)
    assert (deleted.status_code, scraped.status_code) == (403, 403)
    assert deleted.json()["message"].endswith('in the namespace "default": the hook')
    asked = [review["spec"]["resourceAttributes"] for review in webhook.reviews[:3]]
    assert asked[0]["labelSelector"]["requirements"][0]["values"] == ["b"]
    assert [each["verb"] for each in asked] == ["list", "delete", "create"]


async def test_a_put_that_creates_is_asked_about_twice(tmp_path: Path) -> None:
    async with webhook_server() as webhook, served(webhook, tmp_path) as (_, ann):
        lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
        webhook.decide = may("update")
        refused = await ann.put(lease, json={"metadata": {"name": "l"}})

        assert [each["spec"]["resourceAttributes"]["verb"] for each in webhook.reviews] == [
            "update",
            "create",
        ]
    assert (refused.status_code, refused.json()["reason"]) == (403, "Forbidden")


async def test_a_webhook_that_fails_refuses_with_an_error(tmp_path: Path) -> None:
    async def fail(writer: asyncio.StreamWriter, _: Json) -> None:
        send(writer, 403, b"")

    async with webhook_server() as webhook, served(webhook, tmp_path) as (server, ann):
        webhook.behave = fail
        refused = await ann.get(f"{MAPS}?limit=1")
        await ann.get("/version")
        admin = {"Authorization": f"Bearer {server.token}"}
        scraped = (await ann.get("/metrics", headers=admin)).text

    why = "unknown"
    assert (refused.status_code, refused.headers["Content-Type"]) == (
        500,
        "text/plain; charset=utf-8",
    )
    assert refused.text == f'Internal Server Error: "{MAPS}?limit=1": {why}\n'
    result = '{name="default",result="error"}'
    assert f"apiserver_authorization_webhook_evaluations_total{result} 1" in scraped
    assert f"apiserver_authorization_webhook_evaluations_fail_open_total{result} 1" in scraped
    decision = '{decision="allowed",name="rbac",type="RBAC"}'
    assert f"apiserver_authorization_decisions_total{decision} 1" in scraped
    assert TOKEN not in scraped


async def test_reviews_are_answered_by_the_same_authorizers(tmp_path: Path) -> None:
    async def fail(writer: asyncio.StreamWriter, _: Json) -> None:
        send(writer, 403, b"")

    async with webhook_server() as webhook, served(webhook, tmp_path) as (_, ann):
        webhook.decide = may("get", "create")
        attributes = {"verb": "get", "resource": "pods", "namespace": "n"}
        path = f"{AUTHORIZATION}/selfsubjectaccessreviews"
        allowed = await ann.post(path, json={"spec": {"resourceAttributes": attributes}})
        rules = await ann.post(
            f"{AUTHORIZATION}/selfsubjectrulesreviews", json={"spec": {"namespace": "n"}}
        )
        webhook.behave = fail
        other = {**attributes, "resource": "secrets"}
        failed = await ann.post(path, json={"spec": {"resourceAttributes": other}})

    assert allowed.json()["status"] == {"allowed": True, "reason": "the hook"}
    assert rules.json()["status"]["incomplete"] is True
    assert rules.json()["status"]["evaluationError"] == (
        "webhook authorizer does not support user rule resolution"
    )
    assert failed.json()["status"] == {
        "allowed": False,
        "evaluationError": "unknown",
    }


async def test_acting_as_another_waits_for_the_webhook_too(tmp_path: Path) -> None:
    async with webhook_server() as webhook, served(webhook, tmp_path) as (_, ann):
        webhook.decide = lambda spec: {
            "allowed": spec["user"] == "bob"
            or spec.get("resourceAttributes", {}).get("verb") == "impersonate"
        }
        as_bob = await ann.get(MAPS, headers={"Impersonate-User": "bob"})
        as_ann = await ann.get(MAPS)

    assert (as_bob.status_code, as_ann.status_code) == (200, 403)


def configuration(path: Path, *authorizers: str) -> Path:
    lines = ["apiVersion: apiserver.config.k8s.io/v1", "kind: AuthorizationConfiguration"]
    new = path.with_suffix(".new")  # a server may be reading the old one
    new.write_text("\n".join([*lines, "authorizers:", *authorizers]))
    return new.replace(path)


def hook(kubeconfig: Path, condition: str = "true") -> str:
    return (
        "- {type: Webhook, name: w, webhook: {timeout: 30s, subjectAccessReviewVersion: v1, "
        "failurePolicy: Deny, matchConditionSubjectAccessReviewVersion: v1, "
        f'matchConditions: [{{expression: "{condition}"}}], '
        f"connectionInfo: {{type: KubeConfigFile, kubeConfigFile: {kubeconfig}}}}}}}"
    )


async def test_a_changed_configuration_takes_effect_and_a_wrong_one_does_not(
    tmp_path: Path,
) -> None:
    clock = VirtualClock()
    async with webhook_server() as webhook:
        kubeconfig = webhook.write_kubeconfig(tmp_path / "webhook")
        file = configuration(tmp_path / "authorization", "- {type: RBAC, name: r}")
        async with served(webhook, tmp_path, clock, authorization_config=file) as (server, ann):
            admin = {"Authorization": f"Bearer {server.token}"}

            async def reloaded(status: str) -> None:
                name = "apiserver_authorization_config_controller_automatic_reloads_total"
                while (
                    f'{name}{{status="{status}"}} 1'
                    not in (await ann.get("/metrics", headers=admin)).text
                ):
                    await clock.advance(10)

            assert (await ann.get(MAPS)).status_code == 403

            excluded = "request.resourceAttributes.resource != 'secrets'"
            configuration(file, "- {type: RBAC, name: r}", hook(kubeconfig, excluded))
            await reloaded("success")
            assert (await ann.get(MAPS)).status_code == 200
            secrets = MAPS.replace("configmaps", "secrets")
            assert (await ann.get(secrets)).status_code == 403
            assert len(webhook.reviews) == 1, "of secrets it is not asked"

            configuration(file, "- {type: Node, name: n}")
            await reloaded("failure")
            assert (await ann.get(f"{MAPS}?limit=1")).status_code == 200


async def test_a_wrong_configuration_is_refused_at_the_start(tmp_path: Path) -> None:
    file = configuration(tmp_path / "authorization", "- {type: RBAC}")

    with pytest.raises(ConfigInvalid) as refused:
        async with ApiServer(ServerConfig(authorization_config=file)):
            pass

    assert str(refused.value) == (
        f"authorization configuration file {file}: authorizers[0].name: Required value"
    )


@pytest.mark.parametrize(
    ("modes", "message"),
    [
        (("Webhook",), "authorization-mode Webhook's authorization config file not passed"),
        (("RBAC", "RBAC"), 'authorization-mode "RBAC" has mode specified more than once'),
        (("ABAC",), "the authorization mode ABAC is deprecated and not offered"),
        (("Nope",), "the authorization mode must be a list of"),
    ],
)
def test_a_wrong_mode_is_refused_in_a_sentence(modes: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        ServerConfig(authorization_mode=modes)

    assert str(refused.value).startswith(message)


async def test_a_server_may_deny_everything_but_to_masters() -> None:
    config = ServerConfig(tokens=USERS, authorization_mode=("AlwaysDeny",))
    async with (
        ApiServer(config) as server,
        httpx.AsyncClient(base_url=server.url, timeout=60) as client,
    ):
        ann = await client.get(MAPS, headers={"Authorization": "Bearer ann-token"})
        admin = await client.get(MAPS, headers={"Authorization": f"Bearer {server.token}"})

    assert (ann.status_code, admin.status_code) == (403, 200)
    assert ann.json()["message"].endswith(": Everything is forbidden.")
