"""An event's line is what kube-apiserver writes, and never holds a credential."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from proreus.api.wire import json
from proreus.api.wire.path import split
from proreus.server.audit import event as events
from proreus.server.audit.event import AuditedRequest, AuditEvent
from proreus.server.audit.policy import Level, Recording, Stage
from proreus.server.registry.user import User

Json = dict[str, Any]
AT_S = 1_767_225_600.25
TOKEN = "eyJhbGciOiJSUzI1NiJ9.e30.c2ln"
ADMIN = User("admin", ("system:masters", "system:authenticated"), "1", {"scopes": ("a", "b")})


def event(
    path: str = "/api/v1/namespaces/ns/pods",
    level: Level = Level.METADATA,
    *,
    verb: str = "create",
    user: User | None = ADMIN,
    query: str = "",
    headers: Mapping[str, str] | None = None,
    omit_managed_fields: bool = False,
) -> AuditEvent:
    recording = Recording(level, omit_managed_fields=omit_managed_fields)
    uri = f"{path}?{query}" if query else path
    asked = AuditedRequest("id-1", user, verb, split(path), path, uri, headers or {}, "10.0.0.9")
    return AuditEvent(recording, asked, AT_S)


def written(made: AuditEvent, stage: Stage = Stage.RESPONSE_COMPLETE) -> Json:
    line = made.encode(stage, AT_S + 0.5)
    assert b"\n" not in line
    read: Json = json.decode(line)
    return read


def test_a_received_request_is_written_with_the_fields_and_their_order_of_kubernetes() -> None:
    made = event(query="dryRun=All", headers={"User-Agent": "kubectl/v1"})

    line = made.encode(Stage.REQUEST_RECEIVED)

    assert line.decode() == (
        '{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"id-1",'
        '"stage":"RequestReceived","requestURI":"/api/v1/namespaces/ns/pods?dryRun=All",'
        '"verb":"create","user":{"username":"admin","uid":"1",'
        '"groups":["system:masters","system:authenticated"],"extra":{"scopes":["a","b"]}},'
        '"sourceIPs":["10.0.0.9"],"userAgent":"kubectl/v1",'
        '"objectRef":{"resource":"pods","namespace":"ns","apiVersion":"v1"},'
        '"requestReceivedTimestamp":"2026-01-01T00:00:00.250000Z",'
        '"stageTimestamp":"2026-01-01T00:00:00.250000Z"}'
    )


def test_a_complete_answer_names_the_object_and_holds_its_bodies() -> None:
    made = event(level=Level.REQUEST_RESPONSE)
    made.set_impersonated(User("ann", ("devs",)), "impersonate:user-info")
    made.set_request_object({"kind": "Pod", "metadata": {"name": "p", "uid": "u"}})
    made.set_decision(is_allowed=True, reason="")
    made.set_response_object(b'{"kind":"Pod","metadata":{"name":"p"}}\n')
    made.set_response_code(201)

    line = made.encode(Stage.RESPONSE_COMPLETE, AT_S + 0.5)

    read = json.decode(line)
    assert list(read) == [
        "kind", "apiVersion", "level", "auditID", "stage", "requestURI", "verb", "user",
        "impersonatedUser", "authenticationMetadata", "sourceIPs", "objectRef", "responseStatus",
        "requestObject",
        "responseObject", "requestReceivedTimestamp", "stageTimestamp", "annotations",
    ]  # fmt: skip
    assert read["impersonatedUser"] == {"username": "ann", "groups": ["devs"]}
    reference = {"resource": "pods", "namespace": "ns", "name": "p", "uid": "u", "apiVersion": "v1"}
    assert read["objectRef"] == reference
    assert read["responseStatus"] == {"metadata": {}, "code": 201}
    assert read["requestObject"] == {"kind": "Pod", "metadata": {"name": "p", "uid": "u"}}
    assert read["responseObject"] == {"kind": "Pod", "metadata": {"name": "p"}}
    assert read["stageTimestamp"] == "2026-01-01T00:00:00.750000Z"
    assert read["annotations"] == {
        "authorization.k8s.io/decision": "allow",
        "authorization.k8s.io/reason": "",
    }


@pytest.mark.parametrize(
    ("level", "bodies"),
    [
        (Level.METADATA, set()),
        (Level.REQUEST, {"requestObject"}),
        (Level.REQUEST_RESPONSE, {"requestObject", "responseObject"}),
    ],
)
def test_a_level_says_which_bodies_are_recorded(level: Level, bodies: set[str]) -> None:
    made = event(level=level)
    made.set_request_object({"spec": {}})
    made.set_response_object(b'{"spec":{}}')

    assert {"requestObject", "responseObject"} & set(written(made)) == bodies


def test_a_refusal_is_recorded_as_its_status() -> None:
    made = event()
    status = {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "no", "reason": "NotFound", "details": {"name": "p"}, "code": 404,
    }  # fmt: skip
    made.set_response_status(status)

    recorded = written(made)["responseStatus"]

    assert list(recorded) == ["metadata", "status", "message", "reason", "details", "code"]
    assert recorded["details"] == {"name": "p"}


def test_a_request_of_nobody_known_has_an_empty_user() -> None:
    assert written(event(user=None))["user"] == {}


def test_a_request_for_no_resource_refers_to_no_object() -> None:
    assert "objectRef" not in written(event("/version", verb="get"))


def test_a_namespace_is_in_itself() -> None:
    reference = written(event("/api/v1/namespaces/ns", verb="get"))["objectRef"]

    assert reference == {
        "resource": "namespaces", "namespace": "ns", "name": "ns", "apiVersion": "v1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("headers", "ips"),
    [
        ({}, ["10.0.0.9"]),
        ({"X-Forwarded-For": "1.1.1.1, nonsense, 2.2.2.2"}, ["1.1.1.1", "2.2.2.2", "10.0.0.9"]),
        ({"X-Forwarded-For": "1.1.1.1", "X-Real-Ip": "1.1.1.1"}, ["1.1.1.1", "10.0.0.9"]),
        ({"X-Real-Ip": "3.3.3.3"}, ["3.3.3.3", "10.0.0.9"]),
        ({"X-Forwarded-For": "10.0.0.9"}, ["10.0.0.9"]),
    ],
)
def test_proxies_come_before_the_address_of_the_connection(
    headers: dict[str, str], ips: list[str]
) -> None:
    assert written(event(headers=headers))["sourceIPs"] == ips


def test_a_long_user_agent_is_cut() -> None:
    agent = written(event(headers={"User-Agent": "x" * 5000}))["userAgent"]

    assert agent == "x" * 1024 + "...TRUNCATED"


def test_bytes_that_are_no_text_do_not_keep_an_event_from_being_written() -> None:
    assert written(event(headers={"User-Agent": "a\udcff"}))["userAgent"] == "a?"


def test_managed_fields_are_left_out_of_objects_lists_and_tables() -> None:
    managed = {"name": "p", "managedFields": [{"manager": "kubectl"}]}
    made = event(level=Level.REQUEST_RESPONSE, omit_managed_fields=True)
    obj = {"metadata": dict(managed)}
    listed = {"items": [obj], "metadata": {}}
    table = {"kind": "Table", "rows": [{"cells": [1], "object": obj}]}

    made.set_request_object(obj)
    found = [written(made)["requestObject"]]
    for body in (listed, table):
        made.set_response_object(json.encode(body))
        found.append(written(made)["responseObject"])

    assert "managedFields" not in str(found)
    assert [str(each).count("'name': 'p'") for each in found] == [1, 1, 1]
    assert "managedFields" in obj["metadata"]


@pytest.mark.parametrize(
    "patch",
    [b'{"spec":\n  {"replicas": 2}}', b"spec:\n  replicas: 2\n", b'{"spec":{"replicas":2}}'],
)
def test_a_patch_is_recorded_as_json_on_one_line(patch: bytes) -> None:
    made = event(level=Level.REQUEST, verb="patch")
    made.set_request_patch(patch)

    assert written(made)["requestObject"] == {"spec": {"replicas": 2}}


def test_an_indented_answer_is_recorded_on_one_line() -> None:
    made = event(level=Level.REQUEST_RESPONSE)
    made.set_response_object(b'{\n  "kind": "Pod"\n}\n')

    assert written(made)["responseObject"] == {"kind": "Pod"}


def test_bodies_that_are_too_large_are_left_out_and_the_event_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(events, "BODY_BYTES_MAX", 100)
    made = event(level=Level.REQUEST)
    made.set_request_object({"data": "x" * 200})

    read = written(made)

    assert "requestObject" not in read
    assert read["annotations"] == {"audit.k8s.io/truncated": "true"}


@pytest.mark.parametrize(
    "query", ["access_token={}", "a=b&access_token={}&c=d", "token={}", "Access_Token={}"]
)
def test_a_token_in_the_url_is_masked(query: str) -> None:
    made = event(query=query.format(TOKEN))

    line = made.encode(Stage.RESPONSE_COMPLETE, AT_S)

    assert TOKEN.encode() not in line
    assert query.format(events.MASK) in json.decode(line)["requestURI"]


def test_headers_with_credentials_are_not_recorded() -> None:
    headers = {
        "Authorization": f"Bearer {TOKEN}",
        "Sec-WebSocket-Protocol": f"base64url.bearer.authorization.k8s.io.{TOKEN}",
        "Cookie": TOKEN,
    }

    assert TOKEN not in str(written(event(level=Level.REQUEST_RESPONSE, headers=headers)))


@pytest.mark.parametrize(
    ("path", "request_body", "response_body"),
    [
        (
            "/api/v1/namespaces/ns/serviceaccounts/sa/token",
            {"kind": "TokenRequest", "spec": {"audiences": ["a"]}},
            {"kind": "TokenRequest", "spec": {"audiences": ["a"]}, "status": {"token": TOKEN}},
        ),
        (
            "/apis/authentication.k8s.io/v1/tokenreviews",
            {"kind": "TokenReview", "spec": {"token": TOKEN}},
            {"kind": "TokenReview", "spec": {"token": TOKEN}, "status": {}},
        ),
    ],
)
def test_tokens_that_are_made_or_reviewed_are_masked_in_bodies(
    path: str, request_body: Json, response_body: Json
) -> None:
    made = event(path, Level.REQUEST_RESPONSE)
    made.set_request_object(request_body)
    made.set_response_object(json.encode(response_body))

    read = written(made)

    assert TOKEN not in str(read)
    assert read["requestObject"]["kind"] == request_body["kind"]
    assert events.MASK in str(read["responseObject"])


def test_an_event_shows_no_query_in_its_repr() -> None:
    assert TOKEN not in repr(event(query=f"access_token={TOKEN}"))
