"""What of an update webhooks are shown: mutating ones what was sent, validating ones what will be
stored."""

from __future__ import annotations

import uuid

import pytest

from proreus.client import Client
from tests.admission.webhooks import CONFIG_MAPS, WebhookProcess, config_map, configure


@pytest.fixture
def name() -> str:
    """Of a webhook that no other test calls."""
    return f"hook-{uuid.uuid4().hex[:12]}"


async def test_a_mutating_webhook_sees_an_update_before_the_server_completes_it(
    client: Client, process: WebhookProcess, name: str
) -> None:
    maps = client.core_v1.configmaps("default")
    first = await maps.create(config_map("a"))
    await configure(client, "Mutating", process.hook(name, CONFIG_MAPS))
    await configure(client, "Validating", process.hook(f"{name}-after", CONFIG_MAPS))

    stored = await maps.replace({**config_map("a"), "data": {"key": "other"}})

    (sent,), (completed,) = process.requests(name), process.requests(f"{name}-after")
    assert sent["object"]["data"] == {"key": "other"}
    assert not {"uid", "creationTimestamp"} & sent["object"]["metadata"].keys()
    assert sent["object"]["metadata"]["managedFields"]
    assert completed["object"]["metadata"]["uid"] == first.uid == stored.uid
    assert stored.to_dict()["metadata"]["creationTimestamp"]


async def test_a_mutating_webhook_sees_the_whole_of_what_was_sent_as_a_status(
    client: Client, process: WebhookProcess, name: str
) -> None:
    nodes = client.core_v1.nodes
    await nodes.create({"metadata": {"name": "n"}, "spec": {"podCIDR": "10.0.0.0/24"}})
    rule = {**CONFIG_MAPS, "resources": ["nodes/status"]}
    await configure(client, "Mutating", process.hook(name, rule))

    await nodes.replace_status({"metadata": {"name": "n"}, "status": {"phase": "Running"}})

    (sent,) = process.requests(name)
    assert sent["object"]["spec"] == {}
    stored = (await nodes.get("n")).to_dict()
    assert (stored["spec"]["podCIDR"], stored["status"]["phase"]) == ("10.0.0.0/24", "Running")
