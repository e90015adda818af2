"""kubectl applies admission policies, and shows what they refuse."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from tests.running_server import RunningServer

pytest.importorskip("cel_expr_python.cel")

POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAMESPACE-size}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  validations:
  - expression: object.spec.replicas <= 3
    messageExpression: "'at most 3 replicas, not ' + string(object.spec.replicas)"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAMESPACE-size}
spec:
  policyName: NAMESPACE-size
  validationActions: [Deny]
  matchResources:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
"""


def test_a_violated_policy_is_reported_in_its_words(
    run_kubectl: Callable[..., str], server: RunningServer, namespace: str
) -> None:
    policy = POLICY.replace("NAMESPACE", namespace)
    made = run_kubectl("apply", "-f", "-", stdin=policy)
    again = run_kubectl("apply", "-f", "-", stdin=policy)
    command = ("kubectl", "-n", namespace, "create", "deployment", "web", "--image=web:1")

    def create(replicas: int) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, f"--replicas={replicas}"],
            capture_output=True,
            text=True,
            env=server.environment,
            timeout=60,
        )

    refused, admitted = create(5), create(3)

    assert made.count("created") == 2
    assert "created" not in again
    assert refused.returncode == 1
    assert (
        f"ValidatingAdmissionPolicy '{namespace}-size' with binding '{namespace}-size' denied "
        "request: at most 3 replicas, not 5"
    ) in refused.stderr
    assert "deployment.apps/web created" in admitted.stdout
