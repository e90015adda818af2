"""An AuthorizationConfiguration says which authorizers there are; what is wrong in it is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proreus.api.wire import json
from proreus.server.authz.authorizer import Decision
from proreus.server.authz.configuration import parse_authorization
from proreus.server.authz.webhook.match_conditions import ConditionFailed
from proreus.server.cel.pace import on_loop
from proreus.server.config_files.fields import ConfigFileInvalid

KUBECONFIG = (
    "current-context: c\ncontexts: [{name: c, context: {cluster: w}}]\n"
    "clusters: [{name: w, cluster: {server: 'https://127.0.0.1:1/'}}]"
)


@pytest.fixture
def webhook(tmp_path: Path) -> dict[str, Any]:
    file = tmp_path / "kubeconfig"
    file.write_text(KUBECONFIG)
    return {
        "timeout": "3s",
        "subjectAccessReviewVersion": "v1",
        "failurePolicy": "Deny",
        "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": str(file)},
    }


def document(*authorizers: Any, **more: Any) -> bytes:
    header = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration"}
    return json.encode({**header, "authorizers": list(authorizers), **more})


def hook(settings: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"type": "Webhook", "name": "w", "webhook": {**settings, **changes}}


def test_authorizers_are_asked_in_the_order_of_the_file(webhook: dict[str, Any]) -> None:
    node, first, rbac = parse_authorization(
        document({"type": "Node", "name": "n"}, hook(webhook), {"type": "RBAC", "name": "r"})
    )

    assert [(each.type, each.name) for each in (node, first, rbac)] == [
        ("Node", "n"),
        ("Webhook", "w"),
        ("RBAC", "r"),
    ]
    assert first.webhook is not None
    assert (first.webhook.timeout_s, first.webhook.on_failure) == (3, Decision.DENY)
    assert (first.webhook.authorized_ttl_s, first.webhook.unauthorized_ttl_s) == (300, 30)


def test_remembering_can_be_shortened_and_switched_off(webhook: dict[str, Any]) -> None:
    changes = {
        "authorizedTTL": "1m",
        "cacheUnauthorizedRequests": False,
        "failurePolicy": "NoOpinion",
    }
    [found] = parse_authorization(document(hook(webhook, **changes)))

    assert found.webhook is not None
    assert (found.webhook.authorized_ttl_s, found.webhook.unauthorized_ttl_s) == (60, 0)
    assert found.webhook.on_failure is Decision.NO_OPINION


def conditions(*texts: str) -> dict[str, Any]:
    return {
        "matchConditionSubjectAccessReviewVersion": "v1",
        "matchConditions": [{"expression": text} for text in texts],
    }


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("request.user == 'ann'", True),
        ("has(request.resourceAttributes)", True),
        ("has(request.nonResourceAttributes)", False),
        ("request.resourceAttributes.subresource == ''", True),
        ("!('system:masters' in request.groups)", True),
        ("request.extra['a'].exists(each, each == 'b')", True),
        ("request.resourceAttributes.labelSelector.requirements[0].key == 'tier'", True),
        ("request.nonResourceAttributes.path == '/'", None),
        ("request.extra['c'][0] == 'b'", None),
    ],
)
def test_conditions_see_the_review_that_would_be_sent(
    webhook: dict[str, Any], text: str, wanted: bool | None
) -> None:
    [found] = parse_authorization(document(hook(webhook, **conditions(text))))
    assert found.webhook is not None
    assert found.webhook.conditions is not None
    requirements = [{"key": "tier", "operator": "Exists"}]
    attributes = {"verb": "list", "labelSelector": {"requirements": requirements}}
    spec = {"user": "ann", "extra": {"a": ["b"]}, "resourceAttributes": attributes}

    if wanted is None:
        with pytest.raises(ConditionFailed, match="cel evaluation error: expression"):
            found.webhook.conditions.are_met(spec, on_loop())
    else:
        assert found.webhook.conditions.are_met(spec, on_loop()) is wanted


def test_a_condition_that_is_false_outweighs_one_that_fails(webhook: dict[str, Any]) -> None:
    texts = ("request.extra['c'][0] == 'b'", "request.user == 'bob'")
    [found] = parse_authorization(document(hook(webhook, **conditions(*texts))))

    assert found.webhook is not None
    assert found.webhook.conditions is not None
    assert not found.webhook.conditions.are_met({"user": "ann"}, on_loop())


@pytest.mark.parametrize(
    ("authorizers", "message"),
    [
        ([], "authorizers: Required value: at least one authorization mode must be defined"),
        ([{"name": "a"}], "authorizers[0].type: Required value"),
        (
            [{"type": "ABAC", "name": "a"}],
            'authorizers[0].type: Unsupported value: "ABAC": supported values: "AlwaysAllow", '
            '"AlwaysDeny", "Node", "RBAC", "Webhook"',
        ),
        (
            [{"type": "RBAC", "name": "a"}, {"type": "RBAC", "name": "b"}],
            'authorizers[1].type: Duplicate value: "RBAC"',
        ),
        ([{"type": "RBAC"}], "authorizers[0].name: Required value"),
        (
            [{"type": "RBAC", "name": "a"}, {"type": "Node", "name": "a"}],
            'authorizers[1].name: Duplicate value: "a"',
        ),
        (
            [{"type": "RBAC", "name": "A"}],
            'authorizers[0].name: Invalid value: "A": authorizer name is invalid: ',
        ),
        (
            [{"type": "RBAC", "name": "a", "webhook": {}}],
            'authorizers[0].webhook: Invalid value: "non-null": may only be specified when '
            "type=Webhook",
        ),
        (
            [{"type": "Webhook", "name": "a"}],
            "authorizers[0].webhook: Required value: required when type=Webhook",
        ),
        ([{"type": "RBAC", "name": "a", "color": 1}], 'unknown field "authorizers[0].color"'),
        ([7], "authorizers[0]: Invalid value: 7: must be an object"),
    ],
)
def test_a_wrong_authorizer_is_refused_by_its_field(authorizers: list[Any], message: str) -> None:
    with pytest.raises(ConfigFileInvalid) as refused:
        parse_authorization(document(*authorizers))

    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"timeout": None}, "timeout: Required value"),
        ({"timeout": "31s"}, 'timeout: Invalid value: "31s": must be > 0s and <= 30s'),
        ({"timeout": "soon"}, 'timeout: Invalid value: "soon": '),
        ({"authorizedTTL": "-1s"}, 'authorizedTTL: Invalid value: "-1s": must be > 0s'),
        ({"subjectAccessReviewVersion": ""}, "subjectAccessReviewVersion: Required value"),
        (
            {"subjectAccessReviewVersion": "v2"},
            'subjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", '
            '"v1beta1"',
        ),
        ({"failurePolicy": None}, "failurePolicy: Required value"),
        ({"failurePolicy": "Allow"}, 'failurePolicy: Unsupported value: "Allow"'),
        ({"connectionInfo": {}}, "connectionInfo.type: Required value"),
        ({"connectionInfo": {"type": "X"}}, 'connectionInfo.type: Unsupported value: "X"'),
        ({"connectionInfo": {"type": "InClusterConfig"}}, "connectionInfo.type: Invalid value"),
        (
            {"connectionInfo": {"type": "KubeConfigFile"}},
            "connectionInfo.kubeConfigFile: Required value",
        ),
        (
            {"connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": "a"}},
            'connectionInfo.kubeConfigFile: Invalid value: "a": must be an absolute path',
        ),
        (
            {"connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": "/"}},
            'connectionInfo.kubeConfigFile: Invalid value: "/": must be a regular file',
        ),
        (
            {"connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": "/no/such"}},
            'connectionInfo.kubeConfigFile: Invalid value: "/no/such": webhook configuration file',
        ),
        (
            {"matchConditions": [{"expression": "true"}]},
            "matchConditionSubjectAccessReviewVersion: Required value: required if match "
            "conditions are specified",
        ),
        (conditions(" "), "matchConditions[0].expression: Required value"),
        (conditions("true", "true"), "matchConditions[1].expression: Duplicate value"),
        (conditions("1"), 'matchConditions[0].expression: Invalid value: "1": must evaluate to'),
        (conditions("request.x"), 'matchConditions[0].expression: Invalid value: "request.x": '),
        (conditions(*["true"] * 65), "matchConditions: Too many: 65: must have at most 64 items"),
    ],
)
def test_a_wrong_webhook_is_refused_by_its_field(
    webhook: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigFileInvalid) as refused:
        parse_authorization(document(hook(webhook, **changes)))

    assert str(refused.value).startswith(f"authorizers[0].webhook.{message}")
