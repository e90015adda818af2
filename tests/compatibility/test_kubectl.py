"""kubectl works against the server: what people type on a real cluster does the same here."""

from __future__ import annotations

import json
import re
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.running_server import RunningServer

Kubectl = Callable[..., str]

DEPLOYMENT = textwrap.dedent(
    """
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web, labels: {app: web}}
    spec:
      replicas: 2
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          containers:
          - name: web
            image: nginx:1.25
            ports: [{containerPort: 80}]
    """
)


@pytest.fixture
def kubectl(run_kubectl: Kubectl, namespace: str) -> Kubectl:
    def run(*arguments: str, stdin: str | None = None, env: dict[str, str] | None = None) -> str:
        return run_kubectl("-n", namespace, *arguments, stdin=stdin, env=env)

    return run


def test_get_prints_the_columns_of_a_real_cluster(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "settings", "--from-literal=a=1", "--from-literal=b=2")

    lines = kubectl("get", "cm").splitlines()

    assert lines[0].split() == ["NAME", "DATA", "AGE"]
    assert lines[1].split()[:2] == ["settings", "2"]


def test_create_of_each_generator_stores_what_it_says(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "c", "--from-literal=k=v")
    kubectl("create", "secret", "generic", "s", "--from-literal=k=v")
    kubectl("create", "serviceaccount", "sa")
    kubectl("create", "deployment", "d", "--image=nginx", "--replicas=3", "--port=80")
    kubectl("create", "job", "j", "--image=busybox", "--", "true")
    kubectl("create", "cronjob", "cj", "--image=busybox", "--schedule=*/5 * * * *", "--", "true")
    kubectl("create", "role", "r", "--verb=get", "--resource=pods")
    kubectl("create", "rolebinding", "rb", "--role=r", "--user=jane")
    kubectl("create", "quota", "q", "--hard=pods=10")
    kubectl("create", "service", "clusterip", "svc", "--tcp=80:8080")
    kubectl("create", "ingress", "i", "--rule=example.com/*=svc:80")
    kubectl("create", "poddisruptionbudget", "p", "--selector=app=d", "--min-available=1")

    assert kubectl("get", "secret", "s", "-o", "jsonpath={.data.k}") == "dg=="
    assert kubectl("get", "deploy", "d", "-o", "jsonpath={.spec.replicas}") == "3"
    assert kubectl("get", "svc", "svc", "-o", "jsonpath={.spec.ports[0].targetPort}") == "8080"
    assert kubectl("get", "cj", "cj", "-o", "jsonpath={.spec.schedule}") == "*/5 * * * *"


def test_apply_creates_changes_and_leaves_alone(kubectl: Kubectl) -> None:
    assert "created" in kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    assert "unchanged" in kubectl("apply", "-f", "-", stdin=DEPLOYMENT)

    changed = DEPLOYMENT.replace("nginx:1.25", "nginx:1.26")
    assert "configured" in kubectl("apply", "-f", "-", stdin=changed)

    path = "jsonpath={.spec.template.spec.containers[*].image}"
    assert kubectl("get", "deploy", "web", "-o", path) == "nginx:1.26"


def test_server_side_apply_owns_fields_and_reports_conflicts(
    kubectl: Kubectl, server: RunningServer, namespace: str
) -> None:
    kubectl("apply", "--server-side", "-f", "-", stdin=DEPLOYMENT)

    other = subprocess.run(
        ["kubectl", "-n", namespace, "apply", "--server-side", "--field-manager=other", "-f", "-"],
        input=DEPLOYMENT.replace("replicas: 2", "replicas: 5"),
        capture_output=True,
        text=True,
        env=server.environment,
    )

    assert other.returncode == 1
    assert 'conflict with "kubectl"' in other.stderr
    assert ".spec.replicas" in other.stderr


def test_client_side_apply_migrates_to_server_side(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    kubectl("apply", "--server-side", "-f", "-", stdin=DEPLOYMENT)

    without_ports = DEPLOYMENT.replace("ports: [{containerPort: 80}]", "")
    kubectl("apply", "--server-side", "-f", "-", stdin=without_ports)

    path = "jsonpath={.spec.template.spec.containers[0].ports}"
    assert kubectl("get", "deploy", "web", "-o", path) == ""


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        (
            "strategic",
            '{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"i:2"}]}}}}',
        ),
        ("merge", '{"spec":{"replicas":7}}'),
        ("json", '[{"op":"replace","path":"/spec/replicas","value":9}]'),
    ],
)
def test_patch_of_each_type(kubectl: Kubectl, kind: str, patch: str) -> None:
    kubectl("apply", "-f", "-", stdin=DEPLOYMENT)

    assert "patched" in kubectl("patch", "deploy", "web", f"--type={kind}", "-p", patch)

    stored = json.loads(kubectl("get", "deploy", "web", "-o", "json"))
    images = [c["image"] for c in stored["spec"]["template"]["spec"]["containers"]]
    expected = {
        "strategic": (2, ["i:2"]),
        "merge": (7, ["nginx:1.25"]),
        "json": (9, ["nginx:1.25"]),
    }
    assert (stored["spec"]["replicas"], images) == expected[kind]


def test_edit_by_a_scripted_editor(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl("create", "configmap", "c", "--from-literal=k=old")
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/k: old/k: new/" "$1"\n')
    editor.chmod(0o755)

    assert "edited" in kubectl("edit", "cm", "c", env={"KUBE_EDITOR": str(editor)})

    assert kubectl("get", "cm", "c", "-o", "jsonpath={.data.k}") == "new"


def test_label_annotate_and_select(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "a")
    kubectl("create", "configmap", "b")
    kubectl("label", "cm", "a", "tier=web")
    kubectl("annotate", "cm", "a", "note=hello")

    assert kubectl("get", "cm", "-l", "tier in (web)", "-o", "name").split() == ["configmap/a"]
    assert kubectl("get", "cm", "a", "-o", "jsonpath={.metadata.annotations.note}") == "hello"

    kubectl("label", "cm", "a", "tier-")
    assert kubectl("get", "cm", "-l", "tier", "-o", "name") == ""


def test_scale_and_rollout_status(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    kubectl("scale", "deploy/web", "--replicas=4")

    assert kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}") == "4"

    status = {"observedGeneration": 2, "replicas": 4, "updatedReplicas": 4, "readyReplicas": 4}
    status["availableReplicas"] = 4
    patch = json.dumps({"status": status})
    kubectl("patch", "deploy", "web", "--subresource=status", "--type=merge", "-p", patch)
    assert "successfully rolled out" in kubectl("rollout", "status", "deploy/web", "--timeout=60s")


def test_describe_prints_an_object_and_its_events(kubectl: Kubectl, namespace: str) -> None:
    kubectl("apply", "-f", "-", stdin=DEPLOYMENT)

    text = kubectl("describe", "deploy", "web")

    assert "Name:                   web" in text
    assert "nginx:1.25" in text


def test_get_watch_prints_changes_as_they_happen(
    kubectl: Kubectl, server: RunningServer, namespace: str
) -> None:
    kubectl("create", "configmap", "a")
    watching = subprocess.Popen(
        ["kubectl", "-n", namespace, "get", "cm", "-w", "--output-watch-events"],
        stdout=subprocess.PIPE,
        text=True,
        env=server.environment,
    )
    assert watching.stdout
    try:
        assert watching.stdout.readline().split()[0] == "EVENT"
        assert watching.stdout.readline().split()[:2] == ["ADDED", "a"]

        kubectl("create", "configmap", "b")
        assert watching.stdout.readline().split()[:2] == ["ADDED", "b"]
        kubectl("delete", "configmap", "a")
        assert watching.stdout.readline().split()[:2] == ["DELETED", "a"]
    finally:
        watching.kill()
        watching.wait()
        watching.stdout.close()


def test_wait_sees_a_condition_and_a_deletion(
    kubectl: Kubectl, server: RunningServer, namespace: str
) -> None:
    kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    condition = {"type": "Available", "status": "True", "reason": "r", "message": "m"}
    patch = json.dumps({"status": {"conditions": [condition]}})
    kubectl("patch", "deploy", "web", "--subresource=status", "--type=merge", "-p", patch)

    assert "condition met" in kubectl(
        "wait", "deploy/web", "--for=condition=Available", "--timeout=60s"
    )
    assert "deleted" in kubectl("delete", "deploy", "web", "--wait", "--timeout=60s")
    assert kubectl("get", "deploy", "-o", "name") == ""


def test_api_resources_and_versions_list_what_is_served(run_kubectl: Kubectl) -> None:
    names = run_kubectl("api-resources", "-o", "name").split()

    assert {"pods", "deployments.apps", "leases.coordination.k8s.io"} <= set(names)
    assert "apps/v1" in run_kubectl("api-versions").split()
    assert "cm" in run_kubectl("api-resources").split()


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("pod.spec.restartPolicy", ["Always", "Never", "OnFailure"]),
        ("service.spec.type", ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]),
        ("persistentvolume.spec.accessModes", []),
    ],
)
def test_explain_lists_the_values_of_an_enumeration(
    run_kubectl: Kubectl, field: str, values: list[str]
) -> None:
    text = run_kubectl("explain", field)

    assert all(value in text for value in values)
    assert ("enum:" in text.lower()) == bool(values)


def test_explain_of_a_field_shows_its_type(run_kubectl: Kubectl) -> None:
    text = run_kubectl("explain", "deployment.spec.replicas")

    assert "FIELD: replicas <integer>" in text


def test_strict_validation_names_the_unknown_field(
    server: RunningServer, namespace: str, run_kubectl: Kubectl
) -> None:
    refused = subprocess.run(
        ["kubectl", "-n", namespace, "apply", "-f", "-"],
        input=DEPLOYMENT.replace("replicas: 2", "replicas: 2\n  replicsa: 3"),
        capture_output=True,
        text=True,
        env=server.environment,
    )

    assert refused.returncode == 1
    assert 'unknown field "spec.replicsa"' in refused.stderr


def test_dry_run_stores_nothing(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "ghost", "--dry-run=server")

    assert kubectl("get", "cm", "-o", "name") == ""


def test_diff_shows_what_apply_would_change(
    kubectl: Kubectl, server: RunningServer, namespace: str
) -> None:
    kubectl("apply", "-f", "-", stdin=DEPLOYMENT)

    differs = subprocess.run(
        ["kubectl", "-n", namespace, "diff", "-f", "-"],
        input=DEPLOYMENT.replace("replicas: 2", "replicas: 3"),
        capture_output=True,
        text=True,
        env=server.environment,
    )

    assert differs.returncode == 1, differs.stderr
    assert "+  replicas: 3" in differs.stdout


def test_replace_and_delete_by_selector(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    kubectl("replace", "-f", "-", stdin=DEPLOYMENT.replace("replicas: 2", "replicas: 6"))

    assert kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}") == "6"
    kubectl("delete", "deploy", "-l", "app=web")
    assert kubectl("get", "deploy", "-o", "name") == ""


def test_a_client_sends_all_its_requests_on_one_connection_of_http2(
    run_kubectl: Kubectl, namespace: str, server: RunningServer
) -> None:
    """kubectl is client-go: Go's HTTP/2 client tells what it does if it is asked to."""
    done = subprocess.run(
        ["kubectl", "-n", namespace, "get", "cm,secrets,sa,svc"],
        capture_output=True,
        text=True,
        env=server.environment | {"GODEBUG": "http2debug=1"},
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    connections = set(re.findall(r"http2: Transport creating client conn (\S+)", done.stderr))
    answered = set(re.findall(r"Transport received HEADERS .*?stream=(\d+)", done.stderr))
    assert len(connections) == 1, done.stderr[-4000:]
    assert len(answered) >= 4, done.stderr[-4000:]
