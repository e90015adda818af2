"""Admission policies: what they refuse and change, for whom, and that they always take hold."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("cel_expr_python.cel")

from proreus.client import ApiError, Client, Forbidden, Invalid
from proreus.server.admission.options import AdmissionOptions
from proreus.server.audit.options import AuditOptions
from proreus.server.config import ServerConfig
from proreus.testing.server import RunningServer, running_server
from tests.admission.policies import bind, bindings, config_map, mutate, policies, rule, validate
from tests.in_process import servers_on_one_etcd

LIMITED = """
apiVersion: audit.k8s.io/v1
kind: Policy
rules: [{level: Metadata}]
"""


async def created(client: Client, name: str = "a", data: Any = None, **metadata: Any) -> Any:
    return await client.core_v1.configmaps("default").create(config_map(name, data, **metadata))


async def test_a_write_that_violates_a_policy_is_refused_in_its_words(client: Client) -> None:
    await validate(client, "object.data.x == '2'")
    await bind(client, "Validating")

    with pytest.raises(Invalid) as refused:
        await created(client)
    made = await created(client, "b", {"x": "2"})

    said = "ValidatingAdmissionPolicy 'p' with binding 'p-b' denied request: failed expression: "
    assert refused.value.message == (f"configmaps \"a\" is forbidden: {said}object.data.x == '2'")
    assert refused.value.causes == [{"message": f"{said}object.data.x == '2'"}]
    assert made.name == "b"


async def test_what_is_bound_counts_and_nothing_else(client: Client) -> None:
    await validate(client, "false")
    await created(client, "before")
    await bind(client, "Validating")

    with pytest.raises(ApiError):
        await created(client, "bound")
    await bindings(client, "Validating").delete("p-b")
    await created(client, "unbound")


async def test_a_policy_cannot_forbid_its_own_repair(client: Client) -> None:
    everything = rule("*", group="*") | {"operations": ["*"]}
    await validate(client, "false", matchConstraints={"resourceRules": [everything]})
    await bind(client, "Validating")

    with pytest.raises(ApiError, match="denied request"):
        await client.core_v1.namespaces.create({"metadata": {"name": "x"}})
    await policies(client, "Validating").delete("p")

    assert (await client.core_v1.namespaces.create({"metadata": {"name": "x"}})).name == "x"


async def test_a_policy_of_another_version_sees_the_object_in_its_own(client: Client) -> None:
    old = rule("horizontalpodautoscalers", group="autoscaling", apiVersions=["v1"])
    await validate(
        client,
        "object.spec.targetCPUUtilizationPercentage != 7 && request.requestKind.version == 'v2'",
        matchConstraints={"resourceRules": [old]},
    )
    await bind(client, "Validating")
    target = {"type": "Utilization", "averageUtilization": 7}
    scaler = {
        "metadata": {"name": "s"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
            "maxReplicas": 3,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        },
    }
    kind = client.resource(api_version="autoscaling/v2", kind="HorizontalPodAutoscaler")("default")

    with pytest.raises(Invalid, match="failed expression"):
        await kind.create(scaler)
    target["averageUtilization"] = 8

    assert (await kind.create(scaler)).name == "s"


async def test_parameters_of_a_custom_kind_are_followed(client: Client) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definitions = client.resource(
        api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition"
    )
    await validate(
        client,
        "object.data.x in params.allowed",
        paramKind={"apiVersion": "example.com/v1", "kind": "Limit"},
    )
    reference = {"name": "limit", "parameterNotFoundAction": "Deny"}
    await bind(client, "Validating", paramRef=reference)

    with pytest.raises(Invalid, match="failed to find resource referenced by paramKind"):
        await created(client)
    await definitions.create({
        "metadata": {"name": "limits.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "versions": [version],
                 "names": {"plural": "limits", "kind": "Limit"}},
    })  # fmt: skip
    await definitions.wait_for("limits.example.com", "condition=Established")
    limits = client.resource(api_version="example.com/v1", kind="Limit")("default")
    with pytest.raises(Invalid, match="no params found for policy binding with `Deny`"):
        await created(client)
    limit = {"apiVersion": "example.com/v1", "kind": "Limit", "metadata": {"name": "limit"}}
    await limits.create({**limit, "allowed": ["2"]})
    with pytest.raises(Invalid, match="failed expression"):
        await created(client)
    await limits.patch("limit", {"allowed": ["1", "2"]})

    assert (await created(client)).name == "a"


async def test_a_mutating_policy_is_asked_again_after_another_changed_the_object(
    client: Client,
) -> None:
    seen = (
        "Object{metadata: Object.metadata{annotations: "
        "{'seen': string(has(object.metadata.labels))}}}"
    )
    label = "Object{metadata: Object.metadata{labels: {'by': params.data.x}}}"
    await created(client, "param", {"x": "policy"})
    await mutate(client, seen, name="a", reinvocationPolicy="IfNeeded")
    await mutate(client, label, name="b", paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
    await bind(client, "Mutating", policy="a")
    reference = {"name": "param", "namespace": "default", "parameterNotFoundAction": "Deny"}
    await bind(client, "Mutating", policy="b", paramRef=reference)

    made = (await created(client, "made")).to_dict()["metadata"]

    assert made["labels"] == {"by": "policy"}
    assert made["annotations"] == {"seen": "true"}


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("Object{spec: 1}", "error applying patch: failed to convert patch object to typed object: "
                            ".spec: field not declared in schema"),
        ("[JSONPatch{op: 'add', path: '/nothing/here', value: 1}]",
         'JSON Patch: add operation does not apply: doc is missing path: "/nothing/here": missing '
         "value"),
        ("[JSONPatch{op: 'replace', path: '/data/x', value: params}]",
         "expression '[JSONPatch{op: 'replace', path: '/data/x', value: params}]' resulted in"),
    ],
)  # fmt: skip
async def test_a_change_that_cannot_be_made_refuses_the_write(
    client: Client, expression: str, why: str
) -> None:
    if "params" in expression:
        expression = expression.replace("params", "object.data.y")
        why = why.replace("params", "object.data.y")
    await mutate(client, expression)
    await bind(client, "Mutating")

    with pytest.raises(ApiError) as refused:
        await created(client)

    assert refused.value.message.startswith(f"policy 'p' with binding 'p-b' denied request: {why}")
    assert (refused.value.status["code"], refused.value.status["reason"]) == (403, "Invalid")


async def test_a_change_cannot_move_an_object_to_another_namespace(client: Client) -> None:
    before = await created(client, "before")
    await mutate(client, "Object{metadata: Object.metadata{namespace: 'other'}}")
    await bind(client, "Mutating")

    with pytest.raises(ApiError) as of_create:
        await created(client)
    with pytest.raises(ApiError) as of_update:
        await client.core_v1.configmaps("default").replace(before)

    why = "the namespace of the provided object does not match the namespace sent on the request"
    assert (of_create.value.status["code"], of_create.value.message) == (400, why)
    assert (of_update.value.status["code"], of_update.value.message) == (400, why)


async def test_a_change_leaves_what_only_the_server_sets(client: Client) -> None:
    before = await created(client)
    made = "creationTimestamp: '2020-01-01T00:00:00Z', generation: 7, selfLink: 'x'"
    await mutate(client, f"Object{{metadata: Object.metadata{{{made}}}}}")
    await bind(client, "Mutating")

    wanted = before.to_dict() | {"data": {"x": "2"}}
    after = await client.core_v1.configmaps("default").replace(wanted)

    metadata = after.to_dict()["metadata"]
    assert metadata["creationTimestamp"] == wanted["metadata"]["creationTimestamp"]
    assert not {"generation", "selfLink"} & metadata.keys()


@pytest.mark.parametrize("part", ["replicationcontrollers", "replicationcontrollers/status"])
async def test_a_change_leaves_what_the_endpoint_does_not_own(client: Client, part: str) -> None:
    owners = client.core_v1.replicationcontrollers("default")
    labels, container = {"a": "b"}, {"name": "c", "image": "i"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "template": template}
    await owners.create({"metadata": {"name": "r"}, "spec": spec})
    scope = {"resourceRules": [rule(part)]}
    both = "Object{spec: Object.spec{replicas: 7}, status: Object.status{replicas: 7}}"
    await mutate(client, both, matchConstraints=scope)
    await bind(client, "Mutating")

    touched = {"metadata": {"annotations": {"x": "y"}}}
    is_status = part.endswith("/status")
    found = await (owners.patch_status if is_status else owners.patch)("r", touched)

    assert found.spec.replicas == (1 if is_status else 7)
    assert found.status.replicas == (7 if is_status else 0)


async def test_a_patch_whose_test_fails_changes_nothing(client: Client) -> None:
    await mutate(
        client,
        "[JSONPatch{op: 'test', path: '/data/x', value: '2'}, "
        "JSONPatch{op: 'replace', path: '/data/x', value: '3'}]",
    )
    await bind(client, "Mutating")

    one, two = await created(client), await created(client, "b", {"x": "2"})

    assert (one.to_dict()["data"], two.to_dict()["data"]) == ({"x": "1"}, {"x": "3"})


async def test_warnings_audit_annotations_and_metrics_tell_what_policies_found(
    tmp_path: Path,
) -> None:
    (tmp_path / "policy.yaml").write_text(LIMITED)
    audit = AuditOptions(policy_file=tmp_path / "policy.yaml", log_path=tmp_path / "log")
    async with running_server(ServerConfig(audit=audit)) as server, server.client() as client:
        annotation = {"key": "x", "valueExpression": "'x is ' + object.data.x"}
        await validate(client, "object.data.x == '2'", auditAnnotations=[annotation])
        await bind(client, "Validating", validationActions=["Warn", "Audit"])

        await created(client)
        metrics = await _metrics(server)

    events = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    (noted,) = [e["annotations"] for e in events if "p/x" in e.get("annotations", {})]
    assert noted["p/x"] == "x is 1"
    assert json.loads(noted["validation.policy.admission.k8s.io/validation_failure"]) == [
        {"message": "failed expression: object.data.x == '2'", "policy": "p", "binding": "p-b",
         "expressionIndex": 0, "validationActions": ["Warn", "Audit"]}
    ]  # fmt: skip
    for action in ("warn", "audit"):
        labels = (
            f'enforcement_action="{action}",error_type="no_error",policy="p",policy_binding="p-b"'
        )
        assert f"apiserver_validating_admission_policy_check_total{{{labels}}} 1" in metrics


async def _metrics(server: RunningServer) -> str:
    headers = {"Authorization": f"Bearer {server.token}"}
    async with httpx.AsyncClient(timeout=60) as asking:
        return (await asking.get(f"{server.url}/metrics", headers=headers)).text


async def test_a_policy_holds_from_the_first_write_after_a_restart(tmp_path: Path) -> None:
    config = ServerConfig(data_dir=tmp_path)
    async with running_server(config) as server, server.client() as client:
        await validate(client, "object.data.x == '2'")
        await bind(client, "Validating")
    async with running_server(config) as server, server.client() as client:
        with pytest.raises(Invalid, match="denied request"):
            await created(client)


async def test_servers_on_one_etcd_agree_on_policies() -> None:
    async with servers_on_one_etcd() as (writer, elsewhere):
        await validate(writer, "object.data.x == '2'")
        await bind(writer, "Validating")
        async with asyncio.timeout(60):
            while not await _is_refused(elsewhere):
                pass  # asking takes a turn
        with pytest.raises(Invalid, match="denied request"):
            await created(writer)


async def _is_refused(client: Client) -> bool:
    try:
        await client.core_v1.configmaps("default").create(config_map("dry"), dry_run=True)
    except Invalid:
        return True
    return False


async def test_an_expression_asks_the_authorizer_about_the_requests_user(client: Client) -> None:
    asks = "authorizer.group('').resource('secrets').namespace('default').check('get').allowed()"
    await validate(client, asks)
    await bind(client, "Validating")

    assert (await created(client)).name == "a"


async def test_the_status_of_a_policy_reports_which_expressions_ask_for_what_is_not_there() -> None:
    config = ServerConfig(admission=AdmissionOptions(checks_policy_types=True))
    async with running_server(config) as server, server.client() as client:
        deployments = {**rule("deployments", group="apps"), "apiVersions": ["v1"]}
        constraints = {"resourceRules": [deployments]}
        checks = ("object.spec.replicas > 1", "object.replicas > 1")
        await validate(client, *checks, matchConstraints=constraints)

        found = await policies(client, "Validating").wait_for("p", _is_checked)

    status = found.to_dict()["status"]
    assert status["observedGeneration"] == 1
    (warning,) = status["typeChecking"]["expressionWarnings"]
    assert warning["fieldRef"] == "spec.validations[1].expression"
    assert "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field" in warning["warning"]


def _is_checked(found: Any) -> bool:
    return found is not None and "typeChecking" in (found.to_dict().get("status") or {})


async def test_namespaced_parameters_need_a_namespace(client: Client) -> None:
    await validate(
        client,
        "params.data.x == '1'",
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        matchConstraints={"resourceRules": [rule("nodes")]},
    )
    await bind(client, "Validating", paramRef={"name": "p", "parameterNotFoundAction": "Deny"})

    with pytest.raises(ApiError, match="cannot use namespaced paramRef in policy binding that"):
        await client.core_v1.nodes.create({"metadata": {"name": "x"}})


async def test_parameters_for_a_namespace_are_looked_up_in_itself(client: Client) -> None:
    namespaces = client.core_v1.namespaces
    await namespaces.create({"metadata": {"name": "in-itself"}})
    params = {"metadata": {"name": "p"}, "data": {"x": "1"}}
    await client.core_v1.configmaps("in-itself").create(params)
    await validate(
        client,
        "object.metadata.labels.x == params.data.x",
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        matchConstraints={"resourceRules": [rule("namespaces")]},
    )
    await bind(client, "Validating", paramRef={"name": "p", "parameterNotFoundAction": "Deny"})

    changed = await namespaces.patch("in-itself", {"metadata": {"labels": {"x": "1"}}})
    with pytest.raises(ApiError, match="failed expression"):
        await namespaces.patch("in-itself", {"metadata": {"labels": {"x": "2"}}})
    with pytest.raises(ApiError, match="no params found for policy binding with `Deny`"):
        await namespaces.create({"metadata": {"name": "in-another"}})

    assert changed.labels["x"] == "1"


async def test_a_refused_reason_has_its_code(client: Client) -> None:
    refusal = {"expression": "false", "reason": "Forbidden", "message": "no"}
    await validate(client, validations=[refusal])
    await bind(client, "Validating")

    with pytest.raises(Forbidden, match="denied request: no"):
        await created(client)
