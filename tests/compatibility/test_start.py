"""What a server makes of itself is what a kube-apiserver makes: every object, every health check.

``recordings/objects_at_start.jsonl`` has the objects of a real one, a line each, without what the
server sets in their metadata, and its health checks. APIServices are compared with the aggregator's
tests.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_asyncio

from proreus.api.wire import json
from proreus.client import Client
from proreus.client.rest.request import RestRequest
from proreus.server.config import ServerConfig
from proreus.testing.server import running_server

FACTS = Path(__file__).parent / "recordings" / "objects_at_start.jsonl"
PLURALS = {
    "ClusterRole": "clusterroles.rbac.authorization.k8s.io",
    "ClusterRoleBinding": "clusterrolebindings.rbac.authorization.k8s.io",
    "ConfigMap": "configmaps",
    "EndpointSlice": "endpointslices.discovery.k8s.io",
    "Endpoints": "endpoints",
    "FlowSchema": "flowschemas.flowcontrol.apiserver.k8s.io",
    "IPAddress": "ipaddresses.networking.k8s.io",
    "Lease": "leases.coordination.k8s.io",
    "Namespace": "namespaces",
    "PriorityClass": "priorityclasses.scheduling.k8s.io",
    "PriorityLevelConfiguration": "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
    "Role": "roles.rbac.authorization.k8s.io",
    "RoleBinding": "rolebindings.rbac.authorization.k8s.io",
    "Service": "services",
    "ServiceCIDR": "servicecidrs.networking.k8s.io",
}
# What differs between any two servers, or between the days on which they start.
VARIES = [
    (rb"apiserver-[a-z2-7]{26}", b"<server>"),  # its name, made of where it runs
    (rb"_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", b"_<run>"),
    (rb'"kubernetes.io/hostname":"[^"]*"', b'"kubernetes.io/hostname":"<host>"'),
    (rb"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z", b"<time>"),
    (rb'"since":"20\d\d-\d\d-\d\d"', b'"since":"<day>"'),
    (rb'192\.0\.2\.2:\d+"', b'192.0.2.2:<port>"'),
    (rb'"(port|targetPort)":(?!443\b)\d{4,5}', rb'"\1":0'),
]
# Recording 75 has it; the facts leave it out.
WITHOUT_TRANSITION_TIMES = ("FlowSchema",)
OF_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")
# The recorded server was given no certificate for calls to aggregated servers.
FURTHER_CHECKS = {"[+]poststarthook/aggregator-reload-proxy-client-cert ok"}


@cache
def facts() -> list[Any]:
    return [orjson.loads(line) for line in FACTS.read_bytes().splitlines()]


def compared(obj: Any) -> bytes:
    metadata = {k: v for k, v in obj["metadata"].items() if k not in OF_THE_SERVER}
    text = orjson.dumps({**obj, "metadata": metadata}, option=orjson.OPT_SORT_KEYS)
    if obj["kind"] in WITHOUT_TRANSITION_TIMES:
        text = re.sub(rb'"lastTransitionTime":"[^"]*",', b"", text)
    for pattern, put in VARIES:
        text = re.sub(pattern, put, text)
    return text


@pytest_asyncio.fixture
async def client() -> AsyncIterator[Client]:
    config = ServerConfig(advertise_address="192.0.2.2")
    async with running_server(config) as server, server.client() as connected:
        yield connected


async def text(client: Client, path: str) -> str:
    answer = await client.rest.send(RestRequest("get", "GET", path, ()))
    return answer.body.decode()


@pytest.mark.parametrize("kind", PLURALS)
async def test_a_server_makes_of_a_kind_what_kubernetes_makes(client: Client, kind: str) -> None:
    expected = {compared(obj) for obj in facts() if obj.get("kind") == kind}

    listed = await client.resource(PLURALS[kind]).in_all_namespaces().list()
    found = {compared(obj.to_dict()) for obj in listed}

    assert expected, "the facts have objects of every kind here"
    assert sorted(found - expected) == sorted(expected - found)


def test_every_kind_of_the_facts_is_compared() -> None:
    assert {obj["kind"] for obj in facts() if "kind" in obj} == set(PLURALS)


@pytest.mark.parametrize("endpoint", ["livez", "readyz"])
async def test_a_server_has_the_health_checks_of_kubernetes(client: Client, endpoint: str) -> None:
    (expected,) = (one["lines"] for one in facts() if one.get("path") == f"/{endpoint}?verbose")

    async with asyncio.timeout(60):
        while "failed" in (said := await text(client, f"/{endpoint}?verbose")):
            continue  # its parts do their first work soon after the start
    found = said.splitlines()

    kept = [line for line in found if line not in FURTHER_CHECKS]
    assert kept == [line for line in expected if line]
    assert len(found) == len(kept) + len(FURTHER_CHECKS)


async def test_the_index_lists_every_check_and_every_group(client: Client) -> None:
    paths = json.decode(await text(client, "/"))["paths"]

    assert json.decode(await text(client, "/index.html")) == {"paths": paths}
    assert "/readyz/poststarthook/start-service-ip-repair-controllers" in paths
    assert "/apis/storagemigration.k8s.io/v1" in paths
    assert paths == sorted(set(paths))
