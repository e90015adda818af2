"""Who owns what, with kubectl: ReplicaSets their pods, custom resources whatever they are given."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from tests.cluster.up.kubectl import Kubectl
from tests.kubectl import needs_kubectl

pytestmark = needs_kubectl
REPLICA_SET = """
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "web:1"}]}
"""
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
"""
OWNER = "jsonpath={.metadata.ownerReferences[*].name}"


@pytest.fixture
def widgets(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=DEFINITION)
    established = "--for=condition=Established"
    kubectl("wait", established, "crd/widgets.example.com", "--timeout=60s")


def names(kubectl: Kubectl, label: str) -> set[str]:
    return set(kubectl("get", "pods", "-l", label, "-o", "name").split())


def owned(kubectl: Kubectl, kind: str, name: str, owner: str, *finalizers: str) -> None:
    """Make an object that the widget ``owner`` owns, and that it waits for."""
    uid = kubectl("get", "widget", owner, "-o", "jsonpath={.metadata.uid}")
    reference = {
        "apiVersion": "example.com/v1", "kind": "Widget", "name": owner, "uid": uid,
        "blockOwnerDeletion": True,
    }  # fmt: skip
    metadata = {"name": name, "ownerReferences": [reference], "finalizers": list(finalizers)}
    made(kubectl, kind, metadata)


def made(kubectl: Kubectl, kind: str, metadata: Mapping[str, object]) -> None:
    version = "example.com/v1" if kind == "Widget" else "v1"
    body = {"apiVersion": version, "kind": kind, "metadata": metadata}
    kubectl("create", "-f", "-", stdin=json.dumps(body))


def gone(kubectl: Kubectl, objects: Sequence[str]) -> None:
    kubectl("wait", "--for=delete", *objects, "--timeout=60s")


def test_a_replica_set_keeps_its_number_and_lets_go_what_does_not_match(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=REPLICA_SET)
    kubectl("wait", "--for=jsonpath={.status.readyReplicas}=3", "rs/web", "--timeout=60s")
    first, second, _ = sorted(names(kubectl, "app=web"))

    kubectl("delete", first, "--timeout=60s")
    kubectl("label", second, "app=free", "--overwrite")
    kubectl.until(lambda said: len(said.split()) == 3, "get", "pods", "-l", "app=web", "-o", "name")
    kubectl.until(lambda said: not said, "get", second, "-o", OWNER)
    kubectl("wait", "--for=condition=Ready", "pods", "-l", "app=web", "--timeout=60s")

    # It comes back as one too many; of those that are ready the one that costs least to lose goes.
    cheap = min(names(kubectl, "app=web"))
    kubectl("annotate", cheap, "controller.kubernetes.io/pod-deletion-cost=-1")
    kubectl("label", second, "app=web", "--overwrite")
    gone(kubectl, [cheap])
    assert kubectl("get", second, "-o", OWNER) == "web"

    kubectl("delete", "rs/web", "--timeout=60s")
    gone(kubectl, ["pods", "-l", "app=web"])


@pytest.mark.usefixtures("widgets")
def test_what_a_custom_resource_owns_goes_in_the_background(kubectl: Kubectl) -> None:
    made(kubectl, "Widget", {"name": "parent"})
    owned(kubectl, "Widget", "child", "parent")
    owned(kubectl, "ConfigMap", "settings", "parent")
    owned(kubectl, "Widget", "grandchild", "child")

    kubectl("delete", "widget", "parent", "--cascade=background", "--timeout=60s")

    gone(kubectl, ["widget/child", "widget/grandchild", "configmap/settings"])


@pytest.mark.usefixtures("widgets")
def test_a_custom_resource_waits_in_the_foreground_for_what_it_owns(kubectl: Kubectl) -> None:
    made(kubectl, "Widget", {"name": "parent"})
    owned(kubectl, "ConfigMap", "held", "parent", "example.com/hold")

    kubectl("delete", "widget", "parent", "--cascade=foreground", "--wait=false")
    going = ("get", "configmap", "held", "-o", "jsonpath={.metadata.deletionTimestamp}")
    kubectl.until(bool, *going)
    finalizers = kubectl("get", "widget", "parent", "-o", "jsonpath={.metadata.finalizers}")
    kubectl("patch", "configmap", "held", "-p", '{"metadata":{"finalizers":null}}')

    assert finalizers == '["foregroundDeletion"]'
    gone(kubectl, ["configmap/held", "widget/parent"])


@pytest.mark.usefixtures("widgets")
def test_orphans_of_a_custom_resource_stay(kubectl: Kubectl) -> None:
    made(kubectl, "Widget", {"name": "parent"})
    owned(kubectl, "Widget", "child", "parent")

    kubectl("delete", "widget", "parent", "--cascade=orphan", "--timeout=60s")

    assert kubectl("get", "widget", "child", "-o", OWNER) == ""
    kubectl("delete", "widget", "child", "--timeout=60s")


@pytest.mark.usefixtures("widgets")
def test_custom_resources_go_with_their_namespace_and_with_their_definition(
    kubectl: Kubectl,
) -> None:
    kubectl("create", "namespace", "tools")
    made(kubectl, "Widget", {"name": "one", "namespace": "tools"})
    made(kubectl, "Widget", {"name": "two"})

    kubectl("delete", "namespace", "tools", "--timeout=60s")
    assert kubectl("get", "widgets", "-A", "-o", "name").split() == ["widget.example.com/two"]

    kubectl("delete", "crd", "widgets.example.com", "--timeout=60s")
    assert "could not find" in kubectl.refused("get", "--raw", "/apis/example.com/v1")
