"""What admission policies cost a write: their expressions alone, and a create with and without."""

from __future__ import annotations

import asyncio
import timeit
from statistics import median
from time import process_time
from typing import Any

from benchmarks.report import Row
from benchmarks.schema import pod
from proreus.client import Client
from proreus.server.admission.policies.compiled import CompiledPolicy
from proreus.server.admission.policies.decisions import decide
from proreus.server.admission.policies.evaluation import PolicyEvaluation
from proreus.server.cel.pace import on_loop
from proreus.testing.server import running_server

_GROUP = "admissionregistration.k8s.io/v1"
_EXPRESSIONS = (
    "object.spec.containers.all(c, !has(c.securityContext) || !has(c.securityContext.privileged) "
    "|| !c.securityContext.privileged)",
    "object.spec.containers.all(c, c.image.contains(':') && !c.image.endsWith(':latest'))",
    "object.spec.containers.all(c, has(c.resources) && has(c.resources.limits))",
    "!has(object.spec.hostNetwork) || !object.spec.hostNetwork",
    "!has(object.spec.hostPID) || !object.spec.hostPID",
    "has(object.metadata.labels) && object.metadata.labels.all(key, key.size() < 64)",
    "size(object.spec.containers) <= 10",
    "object.metadata.name.matches('^[a-z0-9-]+$') || has(object.metadata.generateName)",
    "request.operation == 'CREATE' || oldObject.metadata.uid == object.metadata.uid",
    "!has(object.spec.volumes) || object.spec.volumes.all(v, !has(v.hostPath))",
)
_RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}
_SPEC: dict[str, Any] = {
    "matchConstraints": {"resourceRules": [_RULE]},
    "validations": [{"expression": text} for text in _EXPRESSIONS],
}
_BOUND = "bound"
_CREATES, _WARM = 800, 100


def run() -> list[Row]:
    without, with_policy = asyncio.run(_creates())
    return [
        Row("ten expressions on a pod of 3.7 kB", _evaluation_us(), "µs"),
        Row("a pod created without a policy, client included", without, "µs"),
        Row("what a policy of ten expressions adds to it", with_policy - without, "µs", 300),
    ]


def _evaluation_us(number: int = 50) -> float:
    policy, values = (
        CompiledPolicy.of(_SPEC),
        (pod(), None, None, {"operation": "CREATE"}, None, None),
    )

    def once() -> None:
        decisions = decide(PolicyEvaluation(policy, values, None, on_loop()), fails_open=False)
        assert not any(decision.is_error for decision in decisions.decisions)

    return min(timeit.repeat(once, number=number, repeat=100, timer=process_time)) / number * 1e6


async def _creates() -> tuple[float, float]:
    """Microseconds of processor time for a create, of the server and its client in one process.

    Creates that the policy concerns alternate with those in a namespace that its binding leaves
    out, so that both meet the same circumstances.
    """
    async with running_server() as server, server.client() as client:
        policies = client.resource(api_version=_GROUP, kind="ValidatingAdmissionPolicy")
        bindings = client.resource(api_version=_GROUP, kind="ValidatingAdmissionPolicyBinding")
        await client.core_v1.namespaces.create({"metadata": {"name": _BOUND}})
        await policies.create({"metadata": {"name": "ten"}, "spec": _SPEC})
        selector = {"matchLabels": {"kubernetes.io/metadata.name": _BOUND}}
        bound = {"matchResources": {"namespaceSelector": selector}}
        spec = {"policyName": "ten", "validationActions": ["Deny"], **bound}
        await bindings.create({"metadata": {"name": "ten"}, "spec": spec})
        taken: dict[str, list[float]] = {"default": [], _BOUND: []}
        for number in range(_CREATES):
            for namespace, times in taken.items():
                times.append(await _create(client, namespace, f"pod-{number}"))
    return median(taken["default"][_WARM:]) * 1e6, median(taken[_BOUND][_WARM:]) * 1e6


async def _create(client: Client, namespace: str, name: str) -> float:
    body = pod()
    body["metadata"] = {"name": name, "labels": {"app": "web"}}
    body["spec"]["containers"] = body["spec"]["containers"][:1]
    began = process_time()
    await client.core_v1.pods(namespace).create(body)
    return process_time() - began
