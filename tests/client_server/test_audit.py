"""What a server records of the requests it gets, over HTTP and as its log says it afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from proreus.aio.clock import SystemClock
from proreus.api.wire import json
from proreus.net.http1.messages import Answer, Request, Response
from proreus.net.http1.server import HttpServer
from proreus.server.app import ApiServer
from proreus.server.audit.options import AuditOptions
from proreus.server.config import ConfigInvalid, ServerConfig
from proreus.server.http.handlers import get as get_handler
from proreus.server.registry.user import User

Json = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
ANN = User("ann", ("system:masters", "system:authenticated"))
TOKEN = "a-token-nobody-may-see"


class Recorded:
    """A server whose log is read when it has stopped."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self.session = session
        self.url = url
        self.events: list[Json] = []
        self.text = ""

    async def ask(self, method: str, path: str, **more: Any) -> tuple[int, bytes]:
        async with self.session.request(method, self.url + path, **more) as answer:
            return answer.status, await answer.read()

    def of(self, uri: str) -> list[Json]:
        return [event for event in self.events if event["requestURI"].startswith(uri)]


@asynccontextmanager
async def recorded(folder: Path, rules: str, head: str = "") -> AsyncIterator[Recorded]:
    policy, log = folder / "policy.yaml", folder / "audit.log"
    policy.write_text(f"apiVersion: audit.k8s.io/v1\nkind: Policy\n{head}\nrules:\n{rules}")
    options = AuditOptions(policy_file=policy, log_path=log)
    headers = {"Authorization": f"Bearer {TOKEN}", "User-Agent": "tester/1"}
    async with (
        ApiServer(ServerConfig(audit=options, tokens={TOKEN: ANN})) as server,
        aiohttp.ClientSession(headers=headers) as session,
    ):
        asked = Recorded(session, server.url)
        yield asked
    asked.text = log.read_text()
    asked.events = [json.decode(line) for line in asked.text.splitlines()]


async def test_a_write_is_recorded_when_it_is_received_and_when_it_is_answered(
    tmp_path: Path,
) -> None:
    async with recorded(tmp_path, "- level: Metadata") as server:
        obj = {"metadata": {"name": "m"}, "data": {"key": "private"}}
        code, _ = await server.ask("POST", MAPS, json=obj, headers={"Audit-Id": "my-id"})
        assert code == 201

    received, complete = server.events
    assert received["stage"] == "RequestReceived"
    assert received["stageTimestamp"] == received["requestReceivedTimestamp"]
    assert complete["stage"] == "ResponseComplete"
    assert complete["auditID"] == received["auditID"] == "my-id"
    assert complete["verb"] == "create"
    assert complete["user"] == {"username": "ann", "groups": list(ANN.groups)}
    assert complete["sourceIPs"] == ["127.0.0.1"]
    assert complete["userAgent"] == "tester/1"
    assert complete["objectRef"] == {
        "resource": "configmaps", "namespace": "default", "name": "m", "apiVersion": "v1",
    }  # fmt: skip
    assert complete["responseStatus"] == {"metadata": {}, "code": 201}
    assert complete["annotations"]["authorization.k8s.io/decision"] == "allow"
    assert "authorization.k8s.io/reason" in complete["annotations"]
    assert "private" not in server.text
    assert TOKEN not in server.text


@pytest.mark.parametrize("accept", ["application/json", "application/vnd.kubernetes.protobuf"])
async def test_bodies_are_recorded_as_json_whatever_encoding_was_asked_for(
    tmp_path: Path, accept: str
) -> None:
    rules = "- level: RequestResponse\n  omitStages: [RequestReceived]\n  omitManagedFields: true"
    headers = {"Accept": accept}
    async with recorded(tmp_path, rules) as server:
        obj = {"metadata": {"name": "m"}, "data": {"a": "1"}}
        await server.ask("POST", MAPS, json=obj, headers=headers)
        patch = {"data": {"a": "2"}}
        kind = {"Content-Type": "application/merge-patch+json", **headers}
        await server.ask("PATCH", f"{MAPS}/m", data=json.encode(patch), headers=kind)
        await server.ask("GET", f"{MAPS}?limit=5", headers=headers)
        await server.ask("DELETE", f"{MAPS}/m", json={"gracePeriodSeconds": 0}, headers=headers)

    created, patched, listed, deleted = server.events
    assert created["requestObject"]["data"] == {"a": "1"}
    assert created["responseObject"]["metadata"]["uid"]
    assert patched["requestObject"] == patch
    assert patched["responseObject"]["data"] == {"a": "2"}
    assert listed["responseObject"]["kind"] == "ConfigMapList"
    assert "requestObject" not in listed
    assert "m" in [item["metadata"]["name"] for item in listed["responseObject"]["items"]]
    assert deleted["requestObject"]["gracePeriodSeconds"] == 0
    assert deleted["responseObject"]["status"] == "Success"
    assert deleted["responseStatus"]["status"] == "Success"
    assert deleted["responseStatus"]["code"] == 200
    assert "managedFields" not in server.text


async def test_refusals_are_recorded_with_their_status(tmp_path: Path) -> None:
    rules = "- level: Metadata\n  omitStages: [RequestReceived]"
    async with recorded(tmp_path, rules) as server:
        await server.ask("GET", f"{PODS}/none")
        await server.ask("GET", PODS, headers={"Authorization": "Bearer wrong-token"})
        await server.ask("GET", PODS, headers={"Authorization": ""})

    missing, unauthenticated, forbidden = server.events
    assert missing["responseStatus"] == {
        "metadata": {},
        "status": "Failure",
        "message": 'pods "none" not found',
        "reason": "NotFound",
        "details": {"name": "none", "kind": "pods"},
        "code": 404,
    }
    assert unauthenticated["stage"] == "ResponseStarted"
    assert unauthenticated["user"] == {}
    assert unauthenticated["responseStatus"]["code"] == 401
    assert forbidden["user"]["username"] == "system:anonymous"
    assert forbidden["responseStatus"]["code"] == 403
    assert forbidden["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert "wrong-token" not in server.text


async def test_a_watch_is_recorded_when_it_starts_and_when_it_ends(tmp_path: Path) -> None:
    async with recorded(tmp_path, "- level: RequestResponse") as server:
        await server.ask("GET", f"{PODS}?watch=1&timeoutSeconds=1")

    assert [(event["verb"], event["stage"]) for event in server.events] == [
        ("watch", "RequestReceived"),
        ("watch", "ResponseStarted"),
        ("watch", "ResponseComplete"),
    ]
    assert [event["responseStatus"]["code"] for event in server.events[1:]] == [200, 200]
    assert "responseObject" not in server.events[-1]


async def test_a_user_that_acts_as_another_is_recorded_as_both(tmp_path: Path) -> None:
    rules = "- level: Metadata\n  omitStages: [RequestReceived]"
    async with recorded(tmp_path, rules) as server:
        await server.ask("GET", PODS, headers={"Impersonate-User": "bob"})

    [event] = server.events
    assert event["user"]["username"] == "ann"
    assert event["impersonatedUser"]["username"] == "bob"


async def test_a_fault_of_the_server_is_recorded_as_a_panic_without_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(TOKEN)

    monkeypatch.setattr(get_handler, "read_object", broken)
    async with recorded(tmp_path, "- level: RequestResponse") as server:
        code, _ = await server.ask("GET", f"{PODS}/p")
        assert code == 500

    assert [event["stage"] for event in server.events] == ["RequestReceived", "Panic"]
    assert server.events[-1]["responseStatus"]["message"] == "APIServer panic'd: RuntimeError"
    assert server.events[-1]["responseStatus"]["code"] == 500
    assert TOKEN not in server.text


async def test_a_request_that_takes_too_long_is_recorded_as_a_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def endless(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(get_handler, "read_object", endless)
    async with recorded(tmp_path, "- level: Metadata") as server:
        code, _ = await server.ask("GET", f"{PODS}/p?timeout=10ms")
        assert code == 504

    assert [event["stage"] for event in server.events] == ["RequestReceived", "ResponseComplete"]
    assert server.events[-1]["responseStatus"]["reason"] == "Timeout"
    assert server.events[-1]["responseStatus"]["code"] == 504


async def test_a_watch_that_is_refused_is_recorded_at_every_stage(tmp_path: Path) -> None:
    async with recorded(tmp_path, "- level: Metadata") as server:
        code, _ = await server.ask("GET", f"{PODS}?watch=1&labelSelector=)")
        assert code == 400

    stages = [event["stage"] for event in server.events]
    assert stages == ["RequestReceived", "ResponseStarted", "ResponseComplete"]
    assert [event["responseStatus"]["code"] for event in server.events[1:]] == [400, 400]


async def test_a_webhook_gets_the_events(tmp_path: Path) -> None:
    received: list[Json] = []

    async def take(request: Request) -> Answer:
        received.extend(json.decode(await request.read_body(1 << 20))["items"])
        return Response(200, ())

    policy, config = tmp_path / "policy.yaml", tmp_path / "webhook.yaml"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]")
    webhook = HttpServer(take, SystemClock(), "127.0.0.1", 0)
    async with webhook.run():
        config.write_text(
            "current-context: c\ncontexts: [{name: c, context: {cluster: w}}]\n"
            f"clusters: [{{name: w, cluster: {{server: 'http://127.0.0.1:{webhook.port}/'}}}}]"
        )
        options = AuditOptions(policy_file=policy, webhook_config_file=config)
        async with (
            ApiServer(ServerConfig(audit=options)) as server,
            aiohttp.ClientSession() as user,
        ):
            await user.get(f"{server.url}/version")

    assert [event["stage"] for event in received] == ["RequestReceived", "ResponseComplete"]


async def test_what_the_policy_does_not_want_is_not_recorded(tmp_path: Path) -> None:
    rules = (
        "- level: None\n  nonResourceURLs: ['/healthz*', /version]\n"
        "- level: None\n  resources: [{resources: [pods]}]\n- level: Metadata"
    )
    async with recorded(tmp_path, rules, "omitStages: [RequestReceived]") as server:
        for path in ("/healthz", "/version", PODS, MAPS):
            await server.ask("GET", path)
        _, scraped = await server.ask("GET", "/metrics")

    assert [event["requestURI"] for event in server.events] == [MAPS, "/metrics"]
    assert b'apiserver_audit_level_total{level="None"} 3' in scraped
    assert b"apiserver_audit_event_total 1" in scraped
    assert b"apiserver_audit_requests_rejected_total 0" in scraped


async def test_no_token_is_recorded_whatever_the_policy_asks_for(tmp_path: Path) -> None:
    account = "/api/v1/namespaces/default/serviceaccounts"
    async with recorded(tmp_path, "- level: RequestResponse") as server:
        await server.ask("POST", account, json={"metadata": {"name": "sa"}})
        code, body = await server.ask(
            "POST", f"{account}/sa/token", json={"spec": {"expirationSeconds": 600}}
        )
        assert code == 201
        made = json.decode(body)["status"]["token"]
        review = {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1"}
        path = "/apis/authentication.k8s.io/v1/tokenreviews"
        await server.ask("POST", path, json={**review, "spec": {"token": made}})
        await server.ask("GET", f"{PODS}?access_token={made}&limit=1")

    [issued] = [each for each in server.of(f"{account}/sa/token") if "annotations" in each]
    assert issued["annotations"]["authentication.kubernetes.io/issued-credential-id"][:4] == "JTI="
    assert made not in server.text
    assert TOKEN not in server.text
    assert len(server.of(path)) == 2
    assert server.of(f"{PODS}?access_token=")[0]["requestURI"].endswith("&limit=1")


@pytest.mark.parametrize("level", ["Metadata", "Request", "RequestResponse"])
async def test_no_credential_is_in_a_record_an_answer_or_a_log_line(
    tmp_path: Path, level: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Secrets are recorded by their metadata, as a policy should ask; tokens at no level."""
    secrets = "/api/v1/namespaces/default/secrets"
    account = "/api/v1/namespaces/default/serviceaccounts"
    rules = f"- level: Metadata\n  resources: [{{resources: [secrets]}}]\n- level: {level}"
    kept = "c2VjcmV0LWluLWEtc2VjcmV0"
    async with recorded(tmp_path, rules) as server:
        data = {"metadata": {"name": "s"}, "data": {"key": kept}}
        await server.ask("POST", secrets, json=data)
        await server.ask("PUT", f"{secrets}/s", json={**data, "data": {"key": kept, "b": kept}})
        await server.ask(
            "PATCH",
            f"{secrets}/s",
            json={"data": {"c": kept}},
            headers={"Content-Type": "application/merge-patch+json"},
        )
        await server.ask("GET", f"{secrets}/s")
        await server.ask("POST", account, json={"metadata": {"name": "sa"}})
        _, body = await server.ask("POST", f"{account}/sa/token", json={"spec": {}})
        made = json.decode(body)["status"]["token"]
        path = "/apis/authentication.k8s.io/v1/tokenreviews"
        for token in (made, f"{made}broken"):
            await server.ask("POST", path, json={"spec": {"token": token}})
        await server.ask("GET", PODS, headers={"Authorization": f"Bearer {made}broken"})
        await server.ask("GET", f"{PODS}?token={made}&access_token={made}")
        _, refused = await server.ask("GET", f"{PODS}/none?access_token={made}")
        _, scraped = await server.ask("GET", "/metrics")

    assert len(server.events) > 20
    said = "".join(capfd.readouterr()) + caplog.text
    for text in (server.text, said, refused.decode(), scraped.decode()):
        for credential in (made, made.rpartition(".")[2], TOKEN, kept):
            assert credential not in text


async def test_constrained_impersonation_is_recorded_by_its_verb(tmp_path: Path) -> None:
    rules = "- level: Metadata\n  omitStages: [RequestReceived]"
    async with recorded(tmp_path, rules) as server:
        await server.ask("GET", PODS, headers={"Impersonate-User": "bob"})

    [event] = server.events
    assert event["authenticationMetadata"] == {"impersonationConstraint": "impersonate:user-info"}


async def test_a_server_with_a_wrong_policy_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match=r"policy.yaml: rules\[0\].level: Unsupported value"):
        async with recorded(tmp_path, "- level: All"):
            pass


async def test_a_server_without_a_policy_records_nothing(tmp_path: Path) -> None:
    options = AuditOptions(log_path=tmp_path / "audit.log")

    async with ApiServer(ServerConfig(audit=options)):
        pass

    assert not (tmp_path / "audit.log").exists()
