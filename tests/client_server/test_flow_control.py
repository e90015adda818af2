"""Flow schemas and priority levels of a running server: made, kept, followed, named in headers."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from proreus.client import Client
from proreus.server.config import ServerConfig
from proreus.testing.server import RunningServer, running_server
from tests import in_process

SCHEMA_UID, LEVEL_UID = "x-kubernetes-pf-flowschema-uid", "x-kubernetes-pf-prioritylevel-uid"
MANDATORY = ("catch-all", "exempt")


server, client = in_process.server, in_process.client


async def get(server: RunningServer, path: str, **headers: str) -> httpx.Response:
    sent = {"Authorization": f"Bearer {server.token}"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    async with httpx.AsyncClient(timeout=60) as client:
        return await client.get(f"{server.url}{path}", headers=sent)


def schema(name: str, level: str) -> dict[str, Any]:
    return {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema",
        "metadata": {"name": name},
        "spec": {
            "matchingPrecedence": 50,
            "priorityLevelConfiguration": {"name": level},
            "rules": [
                {
                    "subjects": [{"kind": "User", "user": {"name": "alice"}}],
                    "resourceRules": [
                        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["configmaps"],
                         "namespaces": ["*"]}
                    ],
                }
            ],
        },
    }  # fmt: skip


async def test_every_answer_names_its_schema_and_level(
    client: Client, server: RunningServer
) -> None:
    schemas = {s.uid: s.name for s in await client.flowcontrol_v1.flowschemas.list()}
    levels = client.flowcontrol_v1.prioritylevelconfigurations
    levels_by_uid = {level.uid: level.name for level in await levels.list()}

    found = []
    for path, headers in (
        ("/api/v1/namespaces", {}),
        ("/api/v1/namespaces/default/configmaps", {"Impersonate_User": "alice"}),
        ("/api/v1/namespaces/default/nothing", {"Impersonate_User": "alice"}),
        ("/livez", {"Impersonate_User": "alice"}),
    ):
        answer = await get(server, path, **headers)
        uids = answer.headers[SCHEMA_UID], answer.headers[LEVEL_UID]
        found.append((schemas[uids[0]], levels_by_uid[uids[1]]))

    assert found == [
        ("exempt", "exempt"), ("global-default", "global-default"),
        ("global-default", "global-default"), ("probes", "exempt"),
    ]  # fmt: skip


async def test_a_schema_takes_hold_with_its_event_and_says_whether_its_level_exists(
    client: Client, server: RunningServer
) -> None:
    schemas = client.flowcontrol_v1.flowschemas
    path = "/api/v1/namespaces/default/configmaps"

    def is_dangling(status: str) -> Any:
        def met(found: Any) -> bool:
            conditions = found.status.conditions or [] if found is not None else []
            return any(c.type == "Dangling" and c.status == status for c in conditions)

        return met

    made = await schemas.create(schema("mine", "nowhere"))
    await schemas.wait_for("mine", is_dangling("True"))
    answer = await get(server, path, Impersonate_User="alice")
    assert answer.headers[SCHEMA_UID] != made.uid

    await schemas.patch("mine", {"spec": {"priorityLevelConfiguration": {"name": "workload-low"}}})
    await schemas.wait_for("mine", is_dangling("False"))
    answer = await get(server, path, Impersonate_User="alice")
    assert answer.headers[SCHEMA_UID] == made.uid


@pytest.mark.parametrize("name", MANDATORY)
async def test_a_mandatory_schema_that_is_deleted_comes_back(client: Client, name: str) -> None:
    schemas = client.flowcontrol_v1.flowschemas
    before = await schemas.get(name)

    await schemas.delete(name)

    after = await schemas.wait_for(
        name, lambda found: found is not None and found.uid != before.uid
    )
    assert after is not None
    assert after.spec == before.spec


async def test_a_restart_restores_suggested_specs_unless_their_annotation_is_gone(
    tmp_path: Any,
) -> None:
    config = ServerConfig(data_dir=tmp_path)
    change = {"spec": {"matchingPrecedence": 77}}
    async with running_server(config) as server, Client(server.config()) as client:
        schemas = client.flowcontrol_v1.flowschemas
        await schemas.patch("kube-scheduler", change)
        keep = {"metadata": {"annotations": {"apf.kubernetes.io/autoupdate-spec": None}}}
        await schemas.patch("service-accounts", {**change, **keep})

    async with running_server(config) as server, Client(server.config()) as client:
        schemas = client.flowcontrol_v1.flowschemas
        precedences = [
            (await schemas.get(name)).spec.matchingPrecedence
            for name in ("kube-scheduler", "service-accounts")
        ]
    assert precedences == [800, 77]


async def test_levels_queues_and_requests_are_rendered_as_text(server: RunningServer) -> None:
    folder = "/debug/api_priority_and_fairness"
    levels = (await get(server, f"{folder}/dump_priority_levels")).text.splitlines()

    assert levels[0].startswith("PriorityLevelName, ")
    assert [line.partition(",")[0] for line in levels[1:]] == [
        "catch-all", "exempt", "global-default", "leader-election", "node-high", "system",
        "workload-high", "workload-low",
    ]  # fmt: skip
    for page in ("dump_queues", "dump_requests"):
        assert (await get(server, f"{folder}/{page}")).status_code == 200
    assert (await get(server, f"{folder}/nope")).status_code == 404
