"""A server with roles enforced: who may do what, from the first request to the last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from proreus.server.app import ApiServer
from proreus.server.config import ConfigInvalid, ServerConfig
from tests.client_server.roles.conftest import as_user, rbac_config

RBAC = "/apis/rbac.authorization.k8s.io/v1"
IN_DEFAULT = f"{RBAC}/namespaces/default"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
READ = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}
BIND = {
    "apiGroups": ["rbac.authorization.k8s.io"],
    "resources": ["roles", "rolebindings"],
    "verbs": ["create", "update", "patch"],
}


async def grant(admin: httpx.AsyncClient, name: str, *rules: dict[str, Any]) -> None:
    """In the namespace default, to ann."""
    role = {"metadata": {"name": name}, "rules": list(rules)}
    assert (await admin.post(f"{IN_DEFAULT}/roles", json=role)).status_code == 201
    made = await admin.post(f"{IN_DEFAULT}/rolebindings", json=binding(name, name))
    assert made.status_code == 201, made.text


def binding(name: str, role: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
        "subjects": [{"kind": "User", "name": "ann"}],
    }


async def test_nobody_is_let_in_without_a_rule(server: ApiServer, ann: httpx.AsyncClient) -> None:
    async with as_user(server, "") as anonymous:
        unknown = await anonymous.get(CONFIG_MAPS)
        health = await anonymous.get("/healthz")
    refused = await ann.get(CONFIG_MAPS)

    assert (unknown.status_code, health.status_code) == (403, 200)
    assert refused.json()["message"] == (
        'configmaps is forbidden: User "ann" cannot list resource "configmaps" in API group "" in '
        'the namespace "default"'
    )


async def test_what_was_granted_and_revoked_holds_for_the_next_request(
    admin: httpx.AsyncClient, ann: httpx.AsyncClient
) -> None:
    await grant(admin, "r", READ)
    granted = await ann.get(CONFIG_MAPS)
    elsewhere = await ann.get("/api/v1/configmaps")

    await admin.delete(f"{IN_DEFAULT}/rolebindings/r")
    revoked = await ann.get(CONFIG_MAPS)

    assert (granted.status_code, elsewhere.status_code, revoked.status_code) == (200, 403, 403)


async def test_who_puts_a_role_back_without_its_uid_must_hold_its_rules(
    admin: httpx.AsyncClient, ann: httpx.AsyncClient
) -> None:
    await grant(admin, "r", BIND)
    strong = {"metadata": {"name": "strong"}, "rules": [{**READ, "verbs": ["delete"]}]}
    stored = (await admin.post(f"{IN_DEFAULT}/roles", json=strong)).json()
    url = f"{IN_DEFAULT}/roles/strong"

    def without(field: str) -> dict[str, Any]:
        kept = {key: value for key, value in stored["metadata"].items() if key != field}
        return {**stored, "metadata": kept}

    whole = await ann.put(url, json=stored)
    finalized = await ann.put(url, json=with_finalizer(stored))
    partly = [
        await ann.put(url, json=without(field))
        for field in ("uid", "creationTimestamp", "resourceVersion")
    ]

    assert (whole.status_code, finalized.status_code) == (200, 200)
    assert [answer.status_code for answer in partly] == [403, 403, 403]
    assert "RBAC permissions not currently held" in partly[0].json()["message"]


def with_finalizer(obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "finalizers": ["example.com/f"]}}


async def test_nobody_grants_what_they_do_not_hold(
    admin: httpx.AsyncClient, ann: httpx.AsyncClient
) -> None:
    await grant(admin, "r", READ, BIND)
    await admin.post(
        f"{IN_DEFAULT}/roles",
        json={"metadata": {"name": "all"}, "rules": [{**READ, "verbs": ["*"]}]},
    )

    more = {"metadata": {"name": "more"}, "rules": [{**READ, "verbs": ["get", "delete"]}]}
    created = await ann.post(f"{IN_DEFAULT}/roles", json=more)
    bound = await ann.post(f"{IN_DEFAULT}/rolebindings", json=binding("b", "all"))
    missing = await ann.post(f"{IN_DEFAULT}/rolebindings", json=binding("b", "nope"))
    held = await ann.post(f"{IN_DEFAULT}/rolebindings", json=binding("b", "r"))

    message = (
        'user "ann" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not '
        'currently held:\n{APIGroups:[""], Resources:["configmaps"], Verbs:["delete"]}'
    )
    assert created.json()["message"].endswith(message)
    assert 'Verbs:["*"]' in bound.json()["message"]
    assert (missing.status_code, held.status_code) == (404, 201)


async def test_a_role_may_be_marked_for_collection_by_who_does_not_hold_it(
    admin: httpx.AsyncClient, ann: httpx.AsyncClient
) -> None:
    await grant(admin, "r", BIND)
    secret = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    await admin.post(f"{IN_DEFAULT}/roles", json={"metadata": {"name": "s"}, "rules": [secret]})

    def patch(**metadata: Any) -> Any:
        kind = {"Content-Type": "application/merge-patch+json"}
        body = {"metadata": metadata}
        return ann.patch(f"{IN_DEFAULT}/roles/s", json=body, headers=kind)

    assert (await patch(finalizers=["a.b/c"])).status_code == 200
    assert (await patch(labels={"a": "b"})).status_code == 403


async def test_an_aggregated_role_needs_every_right(
    admin: httpx.AsyncClient, ann: httpx.AsyncClient
) -> None:
    rule = {**BIND, "resources": ["clusterroles"]}
    await admin.post(f"{RBAC}/clusterroles", json={"metadata": {"name": "c"}, "rules": [rule]})
    everywhere = binding("c", "c")
    everywhere["roleRef"]["kind"] = "ClusterRole"
    await admin.post(f"{RBAC}/clusterrolebindings", json=everywhere)

    selectors = [{"matchLabels": {"a": "b"}}]
    gathering = {"metadata": {"name": "g"}, "aggregationRule": {"clusterRoleSelectors": selectors}}
    refused = await ann.post(f"{RBAC}/clusterroles", json=gathering)

    assert refused.json()["message"].endswith(
        "must have cluster-admin privileges to use the aggregationRule"
    )


async def test_a_put_that_creates_needs_the_right_to_create(
    admin: httpx.AsyncClient, ann: httpx.AsyncClient
) -> None:
    leases = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["update"]}
    await grant(admin, "r", leases)

    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
    refused = await ann.put(path, json={"metadata": {"name": "l"}})

    assert 'cannot create resource "leases"' in refused.json()["message"]


async def test_the_policy_of_the_start_is_mended_at_the_next_start(tmp_path: Path) -> None:
    path = f"{RBAC}/clusterroles/system:basic-user"
    async with (
        ApiServer(rbac_config(data_dir=tmp_path)) as server,
        as_user(server, server.token) as one,
    ):
        whole = (await one.get(path)).json()
        await one.put(path, json={**whole, "rules": []})
        await one.delete(f"{RBAC}/clusterrolebindings/system:basic-user")

    async with (
        ApiServer(rbac_config(data_dir=tmp_path)) as server,
        as_user(server, server.token) as one,
    ):
        mended = (await one.get(path)).json()
        rebound = await one.get(f"{RBAC}/clusterrolebindings/system:basic-user")

    assert [rule["verbs"] for rule in mended["rules"]] == [["create"]] * 3
    assert rebound.status_code == 200


@pytest.mark.parametrize("mode", [(), ("Nope",), ("RBAC", "")])
def test_an_unknown_mode_is_refused_in_one_sentence(mode: tuple[str, ...]) -> None:
    with pytest.raises(ConfigInvalid, match="the authorization mode must be a list of"):
        ServerConfig(authorization_mode=mode)
