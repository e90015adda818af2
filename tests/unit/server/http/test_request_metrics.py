"""What the server counts of requests, as a scrape of it says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio

from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.server.registry.user import AUTHENTICATED, User
from tests.unit.server.registry.server_under_test import Asking

ALICE = "alice-token"


@pytest_asyncio.fixture
async def ask() -> AsyncIterator[Asking]:
    config = ServerConfig(
        tokens={ALICE: User("alice", (AUTHENTICATED,))}, authorization_mode=("RBAC",)
    )
    async with ApiServer(config) as server:
        yield Asking(server)


def sample(ask: Asking, of: str, /, **labels: str) -> float:
    """The value of the only sample with these labels, 0 if there is none."""
    found = [
        sample.value
        for family in ask.server.metrics.collect()
        for sample in family.samples
        if sample.name == of and labels.items() <= sample.labels.items()
    ]
    assert len(found) <= 1, found
    return found[0] if found else 0


async def test_sizes_of_answers_to_reads_are_counted_however_they_are_sent(ask: Asking) -> None:
    for number in range(150):
        obj = {"metadata": {"name": f"m{number}"}, "data": {"a": "x" * 1000}}
        assert (await ask("POST", "configmaps", obj)).status == 201
    one = await ask("GET", "configmaps/m1", accept="application/yaml")

    def sizes(verb: str, ending: str, **more: str) -> float:
        labels = {"verb": verb, "resource": "configmaps", **more}
        return sample(ask, f"apiserver_response_sizes_{ending}", **labels)

    assert sizes("GET", "count") == sizes("GET", "bucket", le="10000") == 1
    assert sizes("GET", "bucket", le="1000") == 0
    assert sizes("GET", "sum") == len(one.body)

    in_chunks = await ask("GET", "configmaps", accept="application/yaml")
    assert (sizes("LIST", "count"), sizes("LIST", "sum")) == (1, len(in_chunks.body))
    in_pieces = await ask("GET", "configmaps")
    assert len(in_pieces.body["items"]) == 150
    assert sizes("LIST", "sum") > len(in_chunks.body) + 150_000
    assert sizes("LIST", "count") == sizes("LIST", "bucket", le="1e+06") == 2
    assert sizes("POST", "count") == 0


async def test_sizes_of_bodies_are_counted_by_resource_and_verb(ask: Asking) -> None:
    made = await ask("POST", "configmaps", {"metadata": {"name": "m"}, "data": {"a": "x" * 60_000}})
    assert made.status == 201
    assert (await ask("DELETE", "configmaps")).status == 200

    def bodies(verb: str, ending: str, **more: str) -> float:
        labels = {"group": "", "resource": "configmaps", "verb": verb, **more}
        return sample(ask, f"apiserver_request_body_size_bytes_{ending}", **labels)

    assert bodies("create", "bucket", le="50000") == 0
    assert bodies("create", "bucket", le="150000") == bodies("create", "count") == 1
    assert bodies("create", "sum") > 60_000
    assert bodies("delete_collection", "count") == 1
    assert bodies("get", "count") == 0


async def test_attempts_at_authorization_are_counted_by_their_result(ask: Asking) -> None:
    def attempts(result: str) -> float:
        counted = sample(ask, "authorization_attempts_total", result=result)
        assert counted == sample(ask, "authorization_duration_seconds_count", result=result)
        return counted

    allowed = attempts("allowed")
    assert (await ask("GET", "configmaps")).status == 200
    assert (await ask("GET", "configmaps", token=ALICE)).status == 403
    assert (await ask("GET", "configmaps", token="wrong")).status == 401

    assert attempts("allowed") == allowed + 1
    assert attempts("no-opinion") == 1
    assert attempts("error") == attempts("denied") == 0


async def test_each_stage_that_hands_a_request_on_is_timed(ask: Asking) -> None:
    def passed(stage: str) -> float:
        return sample(ask, "apiserver_request_filter_duration_seconds_count", filter=stage)

    stages = ("authentication", "impersonation", "priorityandfairness", "authorization")
    before = {stage: passed(stage) for stage in stages}
    await ask("GET", "configmaps")
    await ask("GET", "configmaps", impersonated="alice")
    await ask("GET", "configmaps", token="wrong")

    assert [passed(stage) - before[stage] for stage in stages] == [3, 1, 2, 1]


async def test_attempts_to_act_as_others_are_counted_by_mode_and_decision(ask: Asking) -> None:
    labels = {"mode": "user-info", "decision": "allowed"}
    names = [f"apiserver_impersonation_{name}{kind}"
             for name in ("attempts", "authorization_attempts")
             for kind in ("_total", "_duration_seconds_count")]  # fmt: skip

    await ask("GET", "configmaps", impersonated="alice")

    # An administrator is asked about the request, and about whom to act as.
    assert [sample(ask, name, **labels) for name in names] == [1, 1, 2, 2]


async def test_plugins_are_timed_by_operation_and_by_whether_they_refused(ask: Asking) -> None:
    def plugin(name: str, operation: str, type_: str, rejected: str = "false") -> float:
        return sample(
            ask,
            "apiserver_admission_controller_admission_duration_seconds_count",
            **{"name": name, "operation": operation, "type": type_, "rejected": rejected},
        )

    def step(operation: str, type_: str, rejected: str = "false") -> float:
        return sample(
            ask,
            "apiserver_admission_step_admission_duration_seconds_count",
            **{"operation": operation, "type": type_, "rejected": rejected},
        )

    created = plugin("NamespaceLifecycle", "CREATE", "admit")
    validated = plugin("ResourceQuota", "CREATE", "validate")
    steps = step("CREATE", "admit"), step("CREATE", "validate")
    assert (await ask("POST", "configmaps", {"metadata": {"name": "m"}})).status == 201
    there = await ask("POST", "/api/v1/namespaces/nowhere/configmaps", {"metadata": {"name": "m"}})
    assert there.status == 404

    assert plugin("NamespaceLifecycle", "CREATE", "admit") == created + 1
    assert plugin("NamespaceLifecycle", "CREATE", "admit", "true") == 1
    assert plugin("ResourceQuota", "CREATE", "validate") == validated + 1
    assert (step("CREATE", "admit"), step("CREATE", "validate")) == (steps[0] + 1, steps[1] + 1)
    assert step("CREATE", "admit", "true") == 1


async def test_cluster_addresses_are_counted_by_their_range_and_by_who_chose_them(
    ask: Asking,
) -> None:
    spec = {"ports": [{"port": 80}]}

    def count(what: str, **labels: str) -> float:
        name = f"kube_apiserver_clusterip_allocator_{what}"
        return sample(ask, name, cidr="10.0.0.0/16", **labels)

    def given() -> tuple[float, float]:
        return count("allocation_total", scope="dynamic"), count("allocation_total", scope="static")

    dynamic, static = given()
    for path, name, more in (
        ("services", "a", {}),
        ("services", "b", {"clusterIP": "10.0.0.77"}),
        ("services?dryRun=All", "c", {}),
    ):
        made = await ask("POST", path, {"metadata": {"name": name}, "spec": {**spec, **more}})
        assert made.status == 201

    assert given() == (dynamic + 1, static + 1)
    async with asyncio.timeout(60):
        while count("allocated_ips") != 3:  # with that of ``kubernetes``; their cache follows
            assert (await ask("GET", "services")).status == 200
    assert count("available_ips") == 2**16 - 2 - 3


async def test_node_ports_are_counted_by_who_chose_them(ask: Asking) -> None:
    def count(what: str, **labels: str) -> float:
        return sample(ask, f"kube_apiserver_nodeport_allocator_{what}", **labels)

    def scopes(what: str) -> tuple[float, float]:
        return count(what, scope="static"), count(what, scope="dynamic")

    for path, name, port, status in (
        ("services", "a", {}, 201),
        ("services", "b", {"nodePort": 30077}, 201),
        ("services", "c", {"nodePort": 30077}, 422),
        ("services?dryRun=All", "d", {}, 201),
    ):
        spec = {"type": "NodePort", "ports": [{"port": 80, **port}]}
        made = await ask("POST", path, {"metadata": {"name": name}, "spec": spec})
        assert made.status == status

    assert scopes("allocation_total") == (1, 1)
    assert scopes("allocation_errors_total") == (1, 0)
    async with asyncio.timeout(60):
        while count("allocated_ports") != 2:  # their cache follows
            assert (await ask("GET", "services")).status == 200
    assert count("available_ports") == 2768 - 2


async def test_evaluations_of_pod_security_are_counted_by_what_they_decided(ask: Asking) -> None:
    def evaluated(**labels: str) -> float:
        whole = {"request_operation": "create", "resource": "pod", "subresource": "", **labels}
        return sample(ask, "pod_security_evaluations_total", **whole)

    levels = {"enforce": "baseline", "warn": "restricted", "warn-version": "v1.99"}
    labels = {f"pod-security.kubernetes.io/{key}": value for key, value in levels.items()}
    await ask("POST", "/api/v1/namespaces", {"metadata": {"name": "safe", "labels": labels}})
    container = {"name": "c", "image": "i"}
    for namespace, more, status in (
        ("default", {}, 201), ("safe", {}, 201), ("safe", {"hostNetwork": True}, 403),
    ):  # fmt: skip
        pod = {"metadata": {"generateName": "p"}, "spec": {"containers": [container], **more}}
        made = await ask("POST", f"/api/v1/namespaces/{namespace}/pods", pod)
        assert made.status == status

    enforced = {"mode": "enforce", "policy_version": "latest"}
    assert evaluated(decision="allow", policy_level="privileged", **enforced) == 1
    assert evaluated(decision="allow", policy_level="baseline", **enforced) == 1
    assert evaluated(decision="deny", policy_level="baseline", **enforced) == 1
    warned = {"mode": "warn", "policy_version": "future", "policy_level": "restricted"}
    assert evaluated(decision="deny", **warned) == 1
