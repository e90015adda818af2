"""A policy file is taken whole or refused in one sentence; the policy in force outlives a fault."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.wire import json
from proreus.server.audit.metrics import AuditMetrics
from proreus.server.audit.policy import Level, Policy, Stage
from proreus.server.audit.policy_file import follow_policy, parse_policy
from proreus.server.config_files.fields import ConfigFileInvalid
from proreus.server.config_files.followed_file import FollowedFile
from proreus.server.offload import INLINE
from proreus.server.prometheus import CollectorRegistry
from proreus.testing.virtual_clock import VirtualClock
from tests.samples import sample_value

HEAD = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"
HEADER = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy"}
FIELDS = ["level", "users", "verbs", "resources", "group", "nonResourceURLs", "omitStages"]
GOOD = HEAD + "rules:\n- level: Metadata\n"


def opened(path: Path, registry: CollectorRegistry | None = None) -> FollowedFile[Policy]:
    return follow_policy(
        path, AuditMetrics(registry or CollectorRegistry()).reloads, VirtualClock()
    )


def test_the_policy_of_kubernetes_documentation_is_understood(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(
        HEAD
        + """
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: RequestResponse
  resources:
  - group: ""
    resources: ["pods"]
- level: None
  users: ["system:kube-proxy"]
  verbs: ["watch"]
  resources:
  - group: ""
    resources: ["endpoints", "services"]
- level: None
  userGroups: ["system:authenticated"]
  nonResourceURLs: ["/api*", "/version"]
- level: Request
  omitManagedFields: false
  resources:
  - group: ""
    resources: ["configmaps"]
    resourceNames: ["controller-leader"]
  namespaces: ["kube-system"]
- level: Metadata
  omitStages: [ResponseStarted]
"""
    )

    rules = opened(file).value.rules

    assert [rule.recording.level for rule in rules] == [
        Level.REQUEST_RESPONSE,
        Level.NONE,
        Level.NONE,
        Level.REQUEST,
        Level.METADATA,
    ]
    assert rules[-1].recording.omit_stages == {Stage.REQUEST_RECEIVED, Stage.RESPONSE_STARTED}
    assert [rule.recording.omit_managed_fields for rule in rules[2:4]] == [True, False]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[", "yaml: "),
        ("a", "it is not a mapping"),
        ("kind: Policy", "apiVersion: Unsupported value: null: supported values: "),
        (
            "apiVersion: audit.k8s.io/v1\nkind: Pod",
            'kind: Unsupported value: "Pod": supported values: "Policy"',
        ),
        (HEAD, "rules: Required value: a policy has at least one rule"),
        (HEAD + "rules: {}", "rules: Invalid value: {}: must be a list"),
        (HEAD + "rules: [1]", "rules[0]: Invalid value: 1: must be an object"),
        (HEAD + "rules:\n- {}", "rules[0].level: Required value"),
        (HEAD + "rules:\n- level: metadata", 'rules[0].level: Unsupported value: "metadata"'),
        (GOOD + "- level: None\n  levels: 1", 'unknown field "rules[1].levels"'),
        (GOOD + "kinds: 1", 'unknown field "kinds"'),
        (GOOD + "omitStages: [Done]", 'omitStages[0]: Unsupported value: "Done"'),
        (GOOD + "  users: [1]", "rules[0].users[0]: Invalid value: 1: must be a string"),
        (GOOD + "  omitManagedFields: 1", "rules[0].omitManagedFields: Invalid value: 1"),
        (GOOD + "  resources: [{group: /x}]", 'rules[0].resources[0].group: Invalid value: "/x"'),
        (
            GOOD + "  resources: [{resourceNames: [a]}]",
            'rules[0].resources[0].resourceNames: Invalid value: ["a"]: using resourceNames '
            "requires at least one resource",
        ),
        (GOOD + "  nonResourceURLs: [api]", 'rules[0].nonResourceURLs[0]: Invalid value: "api"'),
        (GOOD + "  nonResourceURLs: [/a*b]", 'rules[0].nonResourceURLs[0]: Invalid value: "/a*b"'),
        (
            GOOD + "  nonResourceURLs: [/a]\n  namespaces: [b]",
            'rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both',
        ),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_in_one_sentence_with_file_and_field(
    tmp_path: Path, text: str, why: str
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(text)

    with pytest.raises(ConfigFileInvalid) as refused:
        opened(file)

    assert str(refused.value).startswith(f"audit policy file {file}: {why}")
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigFileInvalid, match="No such file"):
        opened(tmp_path / "policy.yaml")


async def test_a_file_that_becomes_wrong_leaves_the_policy_in_force_and_is_counted(
    tmp_path: Path,
) -> None:
    file, registry = tmp_path / "policy.yaml", CollectorRegistry()
    file.write_text(GOOD)
    policy_file = opened(file, registry)
    before = policy_file.value

    file.write_text(HEAD + "rules: 1")
    await policy_file.reload(INLINE)
    await policy_file.reload(INLINE)

    assert policy_file.value is before
    assert reloads(registry, "failure") == 1


async def test_a_file_that_changes_takes_effect(tmp_path: Path) -> None:
    file, registry = tmp_path / "policy.yaml", CollectorRegistry()
    file.write_text(GOOD)
    policy_file = opened(file, registry)

    file.write_text(HEAD + "rules:\n- level: Request\n")
    await policy_file.reload(INLINE)

    assert policy_file.value.rules[0].recording.level is Level.REQUEST
    assert reloads(registry, "success") == 1


def reloads(registry: CollectorRegistry, status: str) -> float | None:
    name = "apiserver_audit_policy_automatic_reloads_total"
    return sample_value(registry, name, {"status": status})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=15,
)


@given(st.binary(max_size=60) | VALUES.map(lambda value: json.encode({**HEADER, "rules": value})))
def test_whatever_a_file_holds_it_is_a_policy_or_refused_in_one_sentence(text: bytes) -> None:
    try:
        parse_policy(text)
    except ConfigFileInvalid as refused:
        assert "\n" not in str(refused)
