"""Tokens that end with a pod, a secret or a node; what is refused of requests for tokens."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio

from proreus.api.status import ApiError
from proreus.api.wire import json
from proreus.client import Client, Unauthorized
from proreus.client.rest.request import RestRequest
from proreus.testing.server import RunningServer
from proreus.testing.virtual_clock import VirtualClock

ISSUER = "https://kubernetes.default.svc.cluster.local"
TOKEN = "/api/v1/namespaces/default/serviceaccounts/bob/token"
REVIEW = "/apis/authentication.k8s.io/v1/tokenreviews"
POD = {"metadata": {"name": "p"}, "spec": {"serviceAccountName": "bob", "containers": [
    {"name": "c", "image": "i"}]}}  # fmt: skip
INVALIDATED = "[invalid bearer token, service account token has been invalidated]"


@pytest_asyncio.fixture
async def client(client: Client) -> Client:
    await client.core_v1.serviceaccounts("default").create({"metadata": {"name": "bob"}})
    return client


async def post(client: Client, path: str, body: dict[str, Any]) -> Any:
    return await client.rest.get_json(RestRequest("create", "POST", path, body=json.encode(body)))


async def bound_token(client: Client, kind: str, name: str) -> str:
    reference = {"kind": kind, "apiVersion": "v1", "name": name}
    answer = await post(client, TOKEN, {"spec": {"boundObjectRef": reference}})
    assert answer["spec"]["boundObjectRef"] == reference
    return str(answer["status"]["token"])


async def make(client: Client, kind: str) -> str:
    core, meta = client.core_v1, {"metadata": {"name": "x"}}
    match kind:
        case "Pod":
            await core.pods("default").create({**POD, **meta})
        case "Secret":
            await core.secrets("default").create(meta)
        case _:
            await core.nodes.create(meta)
    return await bound_token(client, kind, "x")


async def remove(client: Client, kind: str) -> None:
    core = client.core_v1
    match kind:
        case "Pod":
            await core.pods("default").delete("x", grace_period_s=0)
        case "Secret":
            await core.secrets("default").delete("x")
        case _:
            await core.nodes.delete("x")


async def review(client: Client, token: str, *audiences: str) -> dict[str, Any]:
    spec = {"token": token, **({"audiences": list(audiences)} if audiences else {})}
    answer = await post(client, REVIEW, {"spec": spec})
    return dict(answer["status"])


async def is_let_in(server: RunningServer, token: str) -> bool:
    async with server.client(token) as bearer:
        try:
            await bearer.authentication_v1.selfsubjectreviews.create({})
        except Unauthorized:
            return False
    return True


async def refusal(client: Client, body: dict[str, Any], path: str = TOKEN) -> tuple[int, str]:
    with pytest.raises(ApiError) as refused:
        await post(client, path, body)
    return refused.value.status["code"], refused.value.status["message"]


@pytest.mark.parametrize("kind", ["Pod", "Secret", "Node"])
async def test_a_token_ends_with_the_object_it_is_bound_to(
    server: RunningServer, client: Client, kind: str
) -> None:
    token = await make(client, kind)
    before = await is_let_in(server, token)

    await remove(client, kind)

    assert (before, await is_let_in(server, token)) == (True, False)
    assert await review(client, token) == {"user": {}, "error": INVALIDATED}


@pytest.mark.parametrize("kind", ["Pod", "Secret", "Node"])
async def test_another_object_of_the_same_name_does_not_revive_a_token(
    server: RunningServer, client: Client, kind: str
) -> None:
    token = await make(client, kind)
    assert await is_let_in(server, token)
    await remove(client, kind)

    successor = await make(client, kind)

    assert not await is_let_in(server, token)
    assert await is_let_in(server, successor)
    said = (await review(client, token))["error"]
    assert f"{kind.lower()} UID (" in said
    assert f"does not match service account {kind.lower()} ref claim (" in said


@pytest.mark.parametrize("kind", ["Pod", "Secret", "Node"])
async def test_a_bound_object_that_is_being_deleted_counts_for_a_minute_more(
    server: RunningServer, client: Client, clock: VirtualClock, kind: str
) -> None:
    token = await make(client, kind)
    patch = {"metadata": {"finalizers": ["example.com/hold"]}}
    core = client.core_v1
    match kind:
        case "Pod":
            await core.pods("default").patch("x", patch)
        case "Secret":
            await core.secrets("default").patch("x", patch)
        case _:
            await core.nodes.patch("x", patch)
    await remove(client, kind)

    await clock.advance(59)
    within = await is_let_in(server, token)
    await clock.advance(3)

    assert (within, await is_let_in(server, token)) == (True, False)


async def test_a_token_says_which_pod_and_node_it_is_of(client: Client) -> None:
    node = await client.core_v1.nodes.create({"metadata": {"name": "n"}})
    pod = await client.core_v1.pods("default").create(
        {**POD, "spec": {**POD["spec"], "nodeName": "n"}}  # type: ignore[dict-item]  # a dict
    )
    token = await bound_token(client, "Pod", "p")

    status = await review(client, token)
    await client.core_v1.nodes.delete("n")
    after = await review(client, token)

    extra = status["user"]["extra"]
    assert {key.rpartition("/")[2]: value for key, value in extra.items()} == {
        "credential-id": extra["authentication.kubernetes.io/credential-id"],
        "pod-name": ["p"],
        "pod-uid": [pod.uid],
        "node-name": ["n"],
        "node-uid": [node.uid],
    }
    assert after["authenticated"]  # a pod's token depends on the pod alone


async def test_reviews_of_tokens_ask_for_audiences(server: RunningServer, client: Client) -> None:
    own = (await post(client, TOKEN, {"spec": {}}))["status"]["token"]
    other = (await post(client, TOKEN, {"spec": {"audiences": ["other"]}}))["status"]["token"]
    wrong = '[invalid bearer token, token audiences ["{}"] is invalid for the target audiences {}]'

    assert (await review(client, own))["audiences"] == [ISSUER]
    assert (await review(client, own, "x", ISSUER))["audiences"] == [ISSUER]
    assert (await review(client, own, "x"))["error"] == wrong.format(ISSUER, '["x"]')
    assert (await review(client, other, "other"))["audiences"] == ["other"]
    assert (await review(client, other))["error"] == wrong.format("other", f'["{ISSUER}"]')
    assert not await is_let_in(server, other)
    assert (await review(client, server.token))["audiences"] == [ISSUER]
    assert await review(client, server.token, "x") == {"user": {}, "error": "invalid bearer token"}
    assert await review(client, "x.y.z") == {"user": {}, "error": "invalid bearer token"}


@pytest.mark.parametrize("token", [" ", "  ", " x"])
async def test_blanks_are_a_token_of_nobody_in_particular(client: Client, token: str) -> None:
    assert await review(client, token) == {
        "authenticated": True,
        "user": {"username": "system:anonymous", "groups": ["system:unauthenticated"]},
        "audiences": [ISSUER],
    }


async def test_a_review_says_why_a_token_is_not_valid(client: Client, clock: VirtualClock) -> None:
    spec = {"expirationSeconds": 600}
    first = (await post(client, TOKEN, {"spec": spec}))["status"]["token"]
    await clock.advance(600)
    expired = await review(client, first)
    second = (await post(client, TOKEN, {"spec": spec}))["status"]["token"]
    await client.core_v1.serviceaccounts("default").delete("bob")
    gone = await review(client, second)

    assert expired["error"] == "[invalid bearer token, service account token has expired]"
    assert gone["error"] == '[invalid bearer token, serviceaccounts "bob" not found]'


async def test_requests_for_tokens_name_the_account_of_the_url(client: Client) -> None:
    account = await client.core_v1.serviceaccounts("default").get("bob")

    name = await refusal(client, {"metadata": {"name": "eve"}})
    namespace = await refusal(client, {"metadata": {"namespace": "other"}})
    uid = await refusal(client, {"metadata": {"uid": "u"}})
    missing = await refusal(client, {}, TOKEN.replace("bob", "nobody"))
    full = {"name": "bob", "namespace": "default", "uid": account.uid}
    made = await post(client, TOKEN, {"metadata": full})

    assert name == (
        422,
        'TokenRequest.authentication.k8s.io "bob" is invalid: metadata.name: Invalid value: "eve": '
        "must match the service account name if specified",
    )
    assert namespace == (
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    )
    assert uid == (
        409,
        'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "bob": the UID in the '
        f"token request (u) does not match the UID of the service account ({account.uid})",
    )
    assert missing == (404, 'serviceaccounts "nobody" not found')
    assert {key: made["metadata"][key] for key in full} == full


@pytest.mark.parametrize(
    ("seconds", "end"),
    [
        (0, "0: may not specify a duration less than 10 minutes"),
        (-1, "-1: may not specify a duration less than 10 minutes"),
        (599, "599: may not specify a duration less than 10 minutes"),
        (2**32 + 1, "4294967297: may not specify a duration larger than 2^32 seconds"),
    ],
)
async def test_tokens_last_from_ten_minutes_on(client: Client, seconds: int, end: str) -> None:
    code, message = await refusal(client, {"spec": {"expirationSeconds": seconds}})

    assert (code, message) == (
        422,
        'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: '
        + end,
    )


async def test_the_longest_and_the_shortest_token_are_made(client: Client) -> None:
    for seconds in (600, 2**32):
        made = await post(client, TOKEN, {"spec": {"expirationSeconds": seconds}})
        assert made["spec"]["expirationSeconds"] == seconds


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ({"kind": "Pod", "apiVersion": "v1", "name": "no"}, (404, 'pods "no" not found')),
        ({"kind": "Secret", "apiVersion": "v1", "name": "no"}, (404, 'secrets "no" not found')),
        ({"kind": "Node", "apiVersion": "v1", "name": "no"}, (404, 'nodes "no" not found')),
        (
            {"kind": "ConfigMap", "apiVersion": "v1", "name": "no"},
            (400, "cannot bind token to object of type /v1, Kind=ConfigMap"),
        ),
        (
            {"kind": "Pod", "apiVersion": "apps/v1", "name": "p"},
            (400, "cannot bind token to object of type apps/v1, Kind=Pod"),
        ),
        (
            {"kind": "Pod", "apiVersion": "v1", "name": "other"},
            (
                400,
                'cannot bind token for serviceaccount "bob" to pod running with different '
                "serviceaccount name.",
            ),
        ),
        (
            {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "u"},
            (
                409,
                'Operation cannot be fulfilled on Pod "p": the UID in the bound object reference '
                "(u) does not match the UID in record. The object might have been deleted and "
                "then recreated",
            ),
        ),
    ],
)
async def test_tokens_are_bound_to_what_is_there(
    client: Client, reference: dict[str, str], said: tuple[int, str]
) -> None:
    pods = client.core_v1.pods("default")
    await pods.create(POD)
    other = {"containers": [{"name": "c", "image": "i"}]}
    await pods.create({"metadata": {"name": "other"}, "spec": other})

    assert await refusal(client, {"spec": {"boundObjectRef": reference}}) == said
