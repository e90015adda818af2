"""Webhooks that cannot be asked or do not answer as they must: Fail refuses, Ignore lets pass.

Whatever a webhook does, its request ends: within the webhook's timeout, with a cause.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterator

import pytest

from proreus.client import ApiError, Client
from proreus.testing.server import RunningServer
from tests.admission import webhooks
from tests.ports import dead_port

BROKEN: dict[str, tuple[webhooks.Behaviour, str]] = {
    "hold": ({"hold": True}, 'failed to call webhook: Post "{url}?timeout=1s": context deadline '
             "exceeded"),
    "cut": ({"cut": True}, 'failed to call webhook: Post "{url}?timeout=1s": EOF'),
    "garbage": ({"raw": "<html>"}, "failed to call webhook: couldn't get version/kind; json parse "
                "error: "),
    "nothing": ({"raw": ""}, "failed to call webhook: 0-length response with status code: 200"),
    "another kind": ({"raw": '{"kind": "Pod", "apiVersion": "v1"}'},
                     'failed to call webhook: no kind "Pod" is registered for version "v1"'),
    "no response": ({"response": {"uid": "wrong"}},
                    "received invalid webhook response: expected response.uid="),
    "error": ({"raw": "out of order", "code": 500},
              'failed to call webhook: an error on the server ("unknown") has prevented the '
              "request from succeeding"),
    "missing": ({"raw": "none", "code": 404},
                "failed to call webhook: the server could not find the requested resource"),
    "redirect": ({"raw": "", "code": 307, "location": "https://127.0.0.1:1/other"},
                 "failed to call webhook: the server responded with the status code 307 but did "
                 "not return more information"),
    "huge": ({"endless": 1 << 30},
             'failed to call webhook: Post "{url}?timeout=1s": the answer has more than '),
    "patch": ({"response": {"patch": "e30=", "patchType": "JSONPatch"}},
              "received undecodable patch in webhook response: json: cannot unmarshal object"),
    "patch type": ({"patch": [{"op": "remove", "path": "/data"}],
                    "response": {"patchType": "Merge"}}, 'unsupported patch type "Merge"'),
}  # fmt: skip


@pytest.fixture
def name() -> str:
    return f"hook-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def nobody() -> Iterator[int]:
    with dead_port() as port:
        yield port


@pytest.mark.parametrize("fault", BROKEN)
async def test_a_broken_webhook_refuses_or_is_passed_over_as_its_policy_says(
    client: Client, process: webhooks.WebhookProcess, name: str, fault: str
) -> None:
    behaviour, why = BROKEN[fault]
    process.behave(name, behaviour)
    # A sudden answer has time to be read on a slow machine; one that never comes has not.
    timeout_s = 1 if "timeout=1s" in why and "hold" in behaviour else 30
    why = why.replace("timeout=1s", f"timeout={timeout_s}s")
    hook = process.hook(name, timeoutSeconds=timeout_s)
    await webhooks.configure(client, "Mutating", hook)
    maps = client.core_v1.configmaps("default")

    with pytest.raises(ApiError) as refused:
        await maps.create(webhooks.config_map("a"))
    await webhooks.configurations(client, "Mutating").patch(
        "tests", {"webhooks": [{**hook, "failurePolicy": "Ignore"}]}
    )
    await maps.create(webhooks.config_map("a"))

    beginning = f'Internal error occurred: failed calling webhook "{name}.example.com": '
    assert refused.value.message.startswith(beginning + why.format(url=process.url(name)))
    assert (refused.value.status["code"], refused.value.status["reason"]) == (500, "InternalError")


@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
async def test_a_webhook_that_is_not_there(
    client: Client, process: webhooks.WebhookProcess, name: str, nobody: int, kind: str
) -> None:
    url = f"https://127.0.0.1:{nobody}/x"
    hook = {**process.hook(name), "clientConfig": {"url": url}}
    await webhooks.configure(client, kind, hook)

    with pytest.raises(ApiError) as refused:
        await client.core_v1.configmaps("default").create(webhooks.config_map("a"))

    assert refused.value.message == (
        f'Internal error occurred: failed calling webhook "{name}.example.com": failed to call '
        f'webhook: Post "{url}?timeout=10s": dial tcp 127.0.0.1:{nobody}: connect: connection '
        "refused"
    )


async def test_a_webhook_of_an_unknown_authority_is_not_believed(
    client: Client, process: webhooks.WebhookProcess, name: str
) -> None:
    hook = process.hook(name)
    del hook["clientConfig"]["caBundle"]
    await webhooks.configure(client, "Validating", hook)

    with pytest.raises(ApiError, match="certificate signed by unknown authority"):
        await client.core_v1.configmaps("default").create(webhooks.config_map("a"))


@pytest.mark.parametrize(
    ("bundle", "why"),
    [
        (b"abc", "unable to parse bytes as PEM block"),
        (b"-----BEGIN X-----\nYWJj\n-----END X-----\n", "no valid certificate authority data seen"),
    ],
)
async def test_a_webhook_whose_authorities_cannot_be_read_is_not_called(
    client: Client, process: webhooks.WebhookProcess, name: str, bundle: bytes, why: str
) -> None:
    address = {"url": process.url(name), "caBundle": base64.b64encode(bundle).decode()}
    await webhooks.configure(client, "Validating", process.hook(name, clientConfig=address))

    with pytest.raises(ApiError) as refused:
        await client.core_v1.configmaps("default").create(webhooks.config_map("a"))

    assert refused.value.message == (
        f'Internal error occurred: failed calling webhook "{name}.example.com": could not get '
        f"REST client: unable to load root certificates: {why}"
    )


async def test_all_validating_webhooks_are_heard_and_the_first_refusal_is_reported(
    client: Client, process: webhooks.WebhookProcess, name: str
) -> None:
    def deny(why: str) -> webhooks.Behaviour:
        return {"response": {"allowed": False, "status": {"message": why}, "warnings": [why]}}

    names = [f"{name}-{number}" for number in range(3)]
    process.behave(names[1], deny("second"))
    process.behave(names[2], deny("third"))
    await webhooks.configure(client, "Validating", *map(process.hook, names))

    with pytest.raises(ApiError, match="denied the request: second"):
        await client.core_v1.configmaps("default").create(webhooks.config_map("a"))

    assert [len(process.calls(one)) for one in names] == [1, 1, 1]


async def test_metrics_count_calls_refusals_and_failures(
    server: RunningServer, client: Client, process: webhooks.WebhookProcess, name: str
) -> None:
    denying, failing = f"{name}-1", f"{name}-2"
    excluded: webhooks.Json = {"name": "never", "expression": "request.operation == 'DELETE'"}
    process.behave(denying, {"response": {"allowed": False, "status": {"code": 409}}})
    process.behave(failing, {"raw": "broken", "code": 500})
    await webhooks.configure(
        client,
        "Validating",
        process.hook(denying),
        process.hook(failing, failurePolicy="Ignore"),
        process.hook(name, matchConditions=[excluded]),
    )

    with pytest.raises(ApiError):
        await client.core_v1.configmaps("default").create(webhooks.config_map("a"))
    scraped = (await client.get_raw("/metrics")).decode()

    def counted(metric: str, of: str, **labels: str) -> str:
        all_of = {"name": f"{of}.example.com", "type": "validating", **labels}
        listed = ",".join(f'{key}="{all_of[key]}"' for key in sorted(all_of))
        return f"apiserver_admission_{metric}{{{listed}}} 1\n"

    created = {"operation": "CREATE"}
    refusal = {"error_type": "no_error", "rejection_code": "409"}
    assert counted("webhook_rejection_count", denying, **created, **refusal) in scraped
    assert counted("webhook_fail_open_count", failing) in scraped
    for hook, code, rejected in ((failing, "500", "false"), (denying, "409", "true")):
        labels = {"code": code, "rejected": rejected}
        assert counted("webhook_request_total", hook, **created, **labels) in scraped
        took = counted("webhook_admission_duration_seconds_count", hook, **created,
                       rejected=rejected)  # fmt: skip
        assert took in scraped
    for metric in ("match_condition_exclusions_total", "match_condition_evaluation_seconds_count"):
        assert counted(metric, name, **created, kind="webhook") in scraped
